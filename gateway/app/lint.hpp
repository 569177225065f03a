// Lint: what is wrong with the tools of a server, for its author (design section 10). The judging is pure and asks the
// same code as the gateway does; lint_command (local_commands.hpp) finds the tools and prints.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "schemas/core/json.hpp"

namespace sallyport::gateway {

struct LintFinding {
  enum class Level : std::uint8_t {
    error,    // the tool cannot be used, or is not what it says
    warning,  // it can be used, but worse than it could
  };
  Level level = Level::error;
  std::string code;     // `input-schema`, …; docs/schemas.md lists them
  std::string tool;     // empty: the server as a whole
  std::string pointer;  // RFC 6901, into the tool, or (code `result`) into its structuredContent
  std::string message;
  json::Position position;  // of what the pointer names, in the text that the tools came in
};
using LintFindings = std::vector<LintFinding>;

// Of one list, in its order: names, hints, schemas, hidden characters.
[[nodiscard]] LintFindings lint_tools(std::span<const json::Value> tools);
// Two lists of one server that ought to be the same. `when` says when the second was asked for.
[[nodiscard]] LintFindings lint_stability(std::span<const json::Value> first, std::span<const json::Value> second,
                                          std::string_view when);
// A text of the server as a whole, such as its instructions.
[[nodiscard]] LintFindings lint_text(std::string_view text, std::string_view name);
// A result object against the tool's outputSchema; nothing if it has none, or a broken one (lint_tools tells).
[[nodiscard]] LintFindings lint_result(json::Value tool, json::Value result);
// It promises to change nothing, its results can be judged, and it takes a call without arguments.
[[nodiscard]] bool lint_callable(json::Value tool);

}  // namespace sallyport::gateway
