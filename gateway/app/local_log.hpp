// What an operator does to the log while no gateway runs: a change of the signing key, and going on with a log that was
// put back. Each asks for the operator's credential and leaves a receipt.
#pragma once

#include "gateway/cli/command_line.hpp"
#include "gateway/cli/terminal.hpp"

namespace sallyport::gateway {

[[nodiscard]] int rotate_key_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int accept_rollback_command(const cli::Invocation& invocation, cli::Terminal& terminal);
// Without a gateway: the newest checkpoint at hand.
[[nodiscard]] int newest_checkpoint_command(const cli::Invocation& invocation, cli::Terminal& terminal);

}  // namespace sallyport::gateway
