// The verbs with their options, help and examples. Internal to cli.
#pragma once

#include <map>

#include "gateway/cli/command_line.hpp"

namespace CLI {
class App;
}

namespace sallyport::gateway::cli {

// Adds every command; values go to `out`, which outlives the parse.
[[nodiscard]] std::map<const CLI::App*, Command> add_verbs(CLI::App& app, Invocation& out);

}  // namespace sallyport::gateway::cli
