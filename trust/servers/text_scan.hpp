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
  friend bool operator==(const TextFinding&, const TextFinding&) = default;
};

[[nodiscard]] std::string_view to_string(TextFinding::Kind kind);

// Of one tool's definition by itself. Bounded: at most 32 findings.
[[nodiscard]] std::vector<TextFinding> scan_definition(json::Value tool);
// Of anything else that reaches a model: every text of it, and the names of members. Bounded alike.
[[nodiscard]] std::vector<TextFinding> scan_texts(json::Value value);
// Of any text that reaches a model (server instructions, a prompt's description).
[[nodiscard]] std::vector<TextFinding> scan_text(std::string_view text, std::string pointer);
// Names of one server that could be taken for each other: for each such name one finding.
struct NameFinding {
  std::string tool;
  TextFinding finding;
};
[[nodiscard]] std::vector<NameFinding> scan_names(std::span<const std::string> tools);
// A word of a definition that could be the name of a tool, as names are compared (case, `-` and `_` do not count), and
// where it stands first. By itself a name counts only if it cannot be an ordinary word (6 characters and more with `_`,
// `-`, `.`, `/` or inner capitals); any other if it is `marked`: in backticks, or written like a call. Names of members
// are texts too; `server__tool`, `server/tool` and `server.tool` name the tool.
struct ToolWord {
  std::string word, pointer;
  bool marked = false;
};
[[nodiscard]] std::vector<ToolWord> tool_words(json::Value definition);
// Which of such words name a tool of another server. Apart from reading the words, which is the work, because servers
// come and go while a definition stays. Bounded: at most 32 findings.
class MentionScan {
 public:
  explicit MentionScan(std::span<const ToolRef> known);
  [[nodiscard]] std::vector<TextFinding> find(std::string_view server, std::span<const ToolWord> words) const;

 private:
  std::unordered_map<std::string, std::vector<ToolRef>> tools_;  // by plain name
};

}  // namespace sallyport::trust
