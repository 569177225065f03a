// Characters and names in a definition that deceive a reader or a model (issue: poisoning). Finds what a machine can
// find for certain; it does not judge the meaning of words.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::trust {

struct TextFinding {
  enum class Kind : std::uint8_t {
    hidden_character,  // control, bidi, invisible, tag characters anywhere in the definition (names, texts, schemas)
    unusual_name,      // a tool name with a character outside [A-Za-z0-9_./-], empty or longer than 128
    lookalike_name,    // two tools of one server that differ only by case, width, 0/O or 1/l/I
    foreign_mention,   // a text that names a tool of another server
  };
  Kind kind;
  std::string pointer;  // into the definition
  std::string message;  // with what was found made visible
};

[[nodiscard]] std::string_view to_string(TextFinding::Kind kind);

// Of one definition by itself. Bounded: at most 32 findings.
[[nodiscard]] std::vector<TextFinding> scan_definition(json::Value tool);
// Of any text that reaches a model (server instructions, a prompt's description).
[[nodiscard]] std::vector<TextFinding> scan_text(std::string_view text, std::string pointer);
// Names of one server that could be taken for each other: for each such name one finding.
struct NameFinding {
  std::string tool;
  TextFinding finding;
};
[[nodiscard]] std::vector<NameFinding> scan_names(std::span<const std::string> tools);
// Whole-word mentions of other servers' tools (names of 6 characters and more with `_`, `-`, `.` or inner capitals).
// One for all tools of a server; what it was made of must outlive it.
class MentionScan {
 public:
  MentionScan(std::string_view server, std::span<const ToolRef> known);
  [[nodiscard]] std::vector<TextFinding> scan(json::Value tool) const;

 private:
  std::unordered_map<std::string_view, std::string_view> foreign_;  // tool -> server; without names of its own
};

}  // namespace sallyport::trust
