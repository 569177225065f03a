#include "trust/servers/text_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "schemas/core/encoding.hpp"

namespace sallyport::trust {
namespace {

constexpr std::size_t kMaxFindings = 32;
constexpr std::size_t kMaxName = 128;
constexpr std::size_t kShortestMarked = 2;  // a name that is an ordinary word counts where it is marked as a name
constexpr std::size_t kMaxParts = 8;        // of a word; of a longer one only the whole is looked up
constexpr std::size_t kMaxWords = 100'000;  // of a definition
constexpr std::string_view kEmojiStyle =
    "\xEF\xB8\x8F";  // U+FE0F, which asks for the coloured form of the character before it

// Without single emoji style selectors: one of them after a symbol hides nothing; many in a row can carry a text.
std::string without_emoji_style(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with(kEmojiStyle)) {
      const bool after_symbol = i > 0 && (static_cast<unsigned char>(text[i - 1]) >= 0x80 || text[i - 1] == '#' ||
                                          text[i - 1] == '*' || (text[i - 1] >= '0' && text[i - 1] <= '9'));
      const bool alone = !text.substr(0, i).ends_with(kEmojiStyle);
      if (after_symbol && alone) {
        i += kEmojiStyle.size();
        continue;
      }
    }
    out += text[i++];
  }
  return out;
}

bool deceives(std::string_view text) {
  if (!has_hidden(text)) return false;
  return text.find(kEmojiStyle) == std::string_view::npos || has_hidden(without_emoji_style(text));
}

// Some text around the first hidden character, made visible.
std::string excerpt(std::string_view text) {
  constexpr std::size_t kLength = 80;
  std::string shown = visible(text);
  const auto at = shown.find("\\u{");
  const std::size_t begin = at == std::string::npos || at < kLength / 2 ? 0 : at - kLength / 2;
  std::size_t from = begin;
  while (from < shown.size() && (static_cast<unsigned char>(shown[from]) & 0xC0U) == 0x80) ++from;
  std::size_t to = std::min(shown.size(), from + kLength);
  while (to < shown.size() && (static_cast<unsigned char>(shown[to]) & 0xC0U) == 0x80) ++to;
  return (from > 0 ? "…" : "") + shown.substr(from, to - from) + (to < shown.size() ? "…" : "");
}

// Every string of a value with its pointer, names of members included; without recursion.
template <class Use>
void each_string(json::Value root, Use use) {
  std::vector<json::Value> open{root};
  while (!open.empty()) {
    const auto value = open.back();
    open.pop_back();
    if (value.is_string()) use(value, false);
    const auto first = open.size();
    for (const auto member : value.members()) {
      use(member.key, true);
      open.push_back(member.value);
    }
    for (const auto item : value.elements()) open.push_back(item);
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
  }
}

std::string inside(json::Value root, json::Value value) {
  auto pointer = value.pointer();
  const auto base = root.pointer();
  return pointer.starts_with(base) ? pointer.substr(base.size()) : pointer;
}

bool usual_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxName && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-';
  });
}

// What a name looks like from afar.
std::string skeleton(std::string_view name) {
  std::string out = fold(name).value_or(std::string(name));
  for (char& c : out) {
    if (c == '0') c = 'o';
    if (c == '1' || c == 'i') c = 'l';
  }
  return out;
}

bool distinctive(std::string_view name) {
  if (name.size() < 6) return false;
  const bool joined = name.find_first_of("_-./") != std::string_view::npos;
  const bool capitals = std::ranges::any_of(name.substr(1), [](char c) { return c >= 'A' && c <= 'Z'; });
  return joined || capitals;
}

bool word_char(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

// How names are compared: a model takes `Send_Email` and `send-email` for the same tool.
std::string plain(std::string_view name) {
  std::string out = fold(name).value_or(std::string(name));
  std::ranges::replace(out, '-', '_');
  return out;
}

// Calls `use` with every word of a text: runs of word characters, with inner `.` and `/` too; `marked`: it stands in
// backticks or is written like a call, so that it is meant as a name.
template <class Use>
void each_word(std::string_view text, Use use) {
  std::size_t i = 0;
  while (i < text.size()) {
    if (!word_char(text[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && (word_char(text[end]) || ((text[end] == '.' || text[end] == '/') &&
                                                          end + 1 < text.size() && word_char(text[end + 1])))) {
      ++end;
    }
    const char after = end < text.size() ? text[end] : ' ';
    const bool quoted = i > 0 && text[i - 1] == '`' && after == '`';
    use(text.substr(i, end - i), quoted || after == '(');
    i = end;
  }
}

// Calls `use` with a word and with its parts between `.`, `/` and `__`: `mail/send_email` and `mail__send_email` name
// `send_email` too, and `orders.create` may stand in a longer path.
template <class Use>
void each_part(std::string_view word, Use use) {
  std::vector<std::size_t> begins{0}, ends;
  for (std::size_t i = 0; i < word.size(); ++i) {
    const bool twice = word[i] == '_' && i > 0 && i + 2 < word.size() && word[i + 1] == '_';
    if (word[i] != '.' && word[i] != '/' && !twice) continue;
    ends.push_back(i);
    i += twice ? 1 : 0;
    begins.push_back(i + 1);
  }
  ends.push_back(word.size());
  if (begins.size() > kMaxParts) return use(word);
  for (std::size_t from = 0; from < begins.size(); ++from) {
    for (std::size_t to = from; to < ends.size(); ++to) {
      if (ends[to] > begins[from]) use(word.substr(begins[from], ends[to] - begins[from]));
    }
  }
}

}  // namespace

std::string_view to_string(TextFinding::Kind kind) {
  switch (kind) {
    case TextFinding::Kind::hidden_character:
      return "hidden-character";
    case TextFinding::Kind::unusual_name:
      return "unusual-name";
    case TextFinding::Kind::lookalike_name:
      return "lookalike-name";
    case TextFinding::Kind::foreign_mention:
      return "foreign-mention";
  }
  return {};
}

std::vector<TextFinding> scan_definition(json::Value tool) {
  std::vector<TextFinding> out;
  const auto name = tool.find("name");
  if (name.is_string() && !usual_name(name.string())) {
    const auto text = name.string();
    out.push_back({TextFinding::Kind::unusual_name, "/name",
                   text.empty() ? "the name is empty"
                   : text.size() > kMaxName
                       ? fmt::format("the name is {} bytes long", text.size())
                       : fmt::format("the name `{}` has characters outside [A-Za-z0-9_./-]", visible(text))});
  }
  for (auto& finding : scan_texts(tool)) {
    if (out.size() < kMaxFindings) out.push_back(std::move(finding));
  }
  return out;
}

std::vector<TextFinding> scan_texts(json::Value root) {
  std::vector<TextFinding> out;
  each_string(root, [&](json::Value value, bool is_name) {
    if (out.size() >= kMaxFindings) return;
    const auto plain = value.plain_string();
    const auto text = plain ? std::string(*plain) : value.string();
    if (!deceives(text)) return;
    out.push_back(
        {TextFinding::Kind::hidden_character, inside(root, value),
         fmt::format("{} holds hidden characters: {}", is_name ? "a member's name" : "a text", excerpt(text))});
  });
  return out;
}

std::vector<TextFinding> scan_text(std::string_view text, std::string pointer) {
  if (!deceives(text)) return {};
  return {{TextFinding::Kind::hidden_character, std::move(pointer),
           fmt::format("a text holds hidden characters: {}", excerpt(text))}};
}

std::vector<NameFinding> scan_names(std::span<const std::string> tools) {
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& tool : tools) {
    auto& group = groups[skeleton(tool)];
    if (std::ranges::find(group, tool) == group.end()) group.push_back(tool);
  }
  std::vector<NameFinding> out;
  for (const auto& [look, group] : groups) {
    if (group.size() < 2) continue;
    for (const auto& tool : group) {
      const auto& other = tool == group.front() ? group[1] : group.front();
      out.push_back({tool,
                     {TextFinding::Kind::lookalike_name, "/name",
                      fmt::format("`{}` could be taken for `{}`", visible(tool), visible(other))}});
    }
  }
  return out;
}

std::vector<ToolWord> tool_words(json::Value definition) {
  std::vector<ToolWord> out;
  std::unordered_map<std::string, std::size_t> seen;
  each_string(definition, [&](json::Value value, bool) {
    const auto text = value.string();
    std::string pointer;
    each_word(text, [&](std::string_view word, bool marked) {
      each_part(word, [&](std::string_view part) {
        const bool meant = distinctive(part) || (marked && part.size() >= kShortestMarked);
        if (!meant || out.size() >= kMaxWords) return;
        const auto [known, fresh] = seen.try_emplace(plain(part), out.size());
        if (!fresh) {
          out[known->second].marked = out[known->second].marked || marked;
          return;
        }
        if (pointer.empty()) pointer = inside(definition, value);
        out.push_back({known->first, pointer, marked});
      });
    });
  });
  return out;
}

MentionScan::MentionScan(std::span<const ToolRef> known) {
  for (const auto& ref : known) tools_[plain(ref.tool)].push_back(ref);
}

std::vector<TextFinding> MentionScan::find(std::string_view server, std::span<const ToolWord> words) const {
  std::vector<TextFinding> out;
  for (const auto& [word, pointer, marked] : words) {
    const auto found = tools_.find(word);
    if (found == tools_.end() || out.size() >= kMaxFindings) continue;
    if (std::ranges::find(found->second, server, &ToolRef::server) != found->second.end()) continue;  // of its own
    const ToolRef& tool = found->second.front();
    if (!marked && !distinctive(tool.tool)) continue;
    out.push_back(
        {TextFinding::Kind::foreign_mention, pointer,
         fmt::format("a text names `{}`, a tool of the server `{}`", visible(tool.tool), visible(tool.server))});
  }
  return out;
}

}  // namespace sallyport::trust
