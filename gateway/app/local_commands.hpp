// The verbs that the control side cannot do: they start the owner, bridge to it, or work without one
// (gateway/cli/commands.hpp lists the others). Each returns the exit code.
#pragma once

#include "gateway/cli/command_line.hpp"
#include "gateway/cli/terminal.hpp"
#include "gateway/config/check.hpp"

namespace sallyport::gateway {

// The files, or nullopt after a complaint that names all their faults (exit code kCouldNot).
[[nodiscard]] std::optional<LoadedConfig> load_or_complain(const cli::Invocation& invocation, cli::Terminal& terminal);

[[nodiscard]] int serve_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int bridge_command(const cli::Invocation& invocation, cli::Terminal& terminal);  // stdio and wrap
[[nodiscard]] int check_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int lint_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int init_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int policy_test_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int policy_diff_command(const cli::Invocation& invocation, cli::Terminal& terminal);  // of two files
[[nodiscard]] int policy_replay_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int policy_suggest_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int receipts_command(const cli::Invocation& invocation, cli::Terminal& terminal);  // verify, export, key
[[nodiscard]] int token_new_command(const cli::Invocation& invocation, cli::Terminal& terminal);
// tools, trust and explain without an owner: the servers are started here, or (--offline) the lock is read.
[[nodiscard]] int tools_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int trust_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int fingerprint_command(const cli::Invocation& invocation, cli::Terminal& terminal);
[[nodiscard]] int explain_command(const cli::Invocation& invocation, cli::Terminal& terminal);

}  // namespace sallyport::gateway
