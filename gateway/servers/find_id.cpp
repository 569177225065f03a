// The ids of messages that are too long or too deep to be read, or no JSON. Used only to tell a waiting call that its
// answer is lost, so that it does not wait for its deadline.
#include "gateway/servers/conversation.hpp"

namespace sallyport::gateway::servers {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::optional<std::int64_t> integer_of(std::string_view digits) {
  if (digits.empty() || digits.size() > 18) return std::nullopt;
  std::int64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

// Members of the outermost object in order, as far as the text reaches.
class Skimmer {
 public:
  explicit Skimmer(std::string_view text) : text_(text) {}

  struct Found {
    std::vector<std::int64_t> ids;
    bool answers = false, asks = false;
  };
  // The members of the next outermost object, as far as they can be told apart. nullopt: there is none.
  std::optional<Found> next() {
    while (at_ < text_.size() && (is_space(text_[at_]) || std::string_view("[],").contains(text_[at_]))) ++at_;
    if (!take('{')) return std::nullopt;
    Found found;
    for (;;) {
      const auto key = string();
      if (!key || !take(':')) return lost(found);
      found.answers = found.answers || *key == R"("result")" || *key == R"("error")";
      found.asks = found.asks || *key == R"("method")";
      space();
      const std::size_t begin = at_;
      if (!skip_value()) return lost(found);
      if (*key == R"("id")") {
        const auto id = integer_of(trimmed(text_.substr(begin, at_ - begin)));
        found.ids.push_back(id.value_or(-1));
      }
      if (take('}')) return found;
      if (!take(',')) return lost(found);
    }
  }

  std::optional<std::int64_t> find() {
    if (!take('{')) return std::nullopt;
    for (;;) {
      const auto key = string();
      if (!key || !take(':')) return std::nullopt;
      space();
      const std::size_t begin = at_;
      if (!skip_value()) return std::nullopt;
      if (*key == R"("id")") return integer_of(trimmed(text_.substr(begin, at_ - begin)));
      if (!take(',')) return std::nullopt;
    }
  }

 private:
  // Where the rest begins cannot be told any more.
  Found lost(Found found) {
    at_ = text_.size();
    return found;
  }
  static std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
    return text;
  }
  void space() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  std::optional<std::string_view> string() {
    space();
    const std::size_t begin = at_;
    if (at_ >= text_.size() || text_[at_] != '"') return std::nullopt;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == '"') {
        ++at_;
        return text_.substr(begin, at_ - begin);
      }
    }
    return std::nullopt;
  }
  // Stops at the comma or brace after the value.
  bool skip_value() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        if (!string()) return false;
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}')) return true;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') {
        if (depth == 0) return false;
        --depth;
      }
      ++at_;
    }
    return false;
  }
  std::string_view text_;
  std::size_t at_ = 0;
};

// `… , "id" : 17 }` at the very end: one brace only, so it is the outermost object's.
std::optional<std::int64_t> id_at_end(std::string_view tail) {
  const auto strip = [&tail] {
    while (!tail.empty() && is_space(tail.back())) tail.remove_suffix(1);
  };
  const auto drop = [&tail](std::string_view suffix) {
    if (!tail.ends_with(suffix)) return false;
    tail.remove_suffix(suffix.size());
    return true;
  };
  strip();
  if (!drop("}")) return std::nullopt;
  strip();
  std::size_t digits = 0;
  while (digits < tail.size() && tail[tail.size() - 1 - digits] >= '0' && tail[tail.size() - 1 - digits] <= '9') {
    ++digits;
  }
  const std::string_view number = tail.substr(tail.size() - digits);
  tail.remove_suffix(digits);
  strip();
  if (!drop(":")) return std::nullopt;
  strip();
  if (!drop(R"("id")")) return std::nullopt;
  strip();
  if (!tail.ends_with(',') && !tail.ends_with('{')) return std::nullopt;
  return integer_of(number);
}

}  // namespace

std::optional<std::int64_t> find_id(std::string_view head, std::string_view tail) {
  if (const auto id = Skimmer(head).find()) return id;
  return id_at_end(tail);
}

std::vector<std::int64_t> find_answers(std::string_view text) {
  std::vector<std::int64_t> ids;
  Skimmer skimmer(text);
  while (const auto found = skimmer.next()) {
    if (found->answers && !found->asks && found->ids.size() == 1 && found->ids.front() >= 0)
      ids.push_back(found->ids.front());
  }
  return ids;
}

}  // namespace sallyport::gateway::servers
