// ECMA-262 patterns (Unicode semantics) read by their own grammar and written for PCRE2.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "schemas/validate/ecma_groups.hpp"
#include "schemas/validate/ecma_sets.hpp"
#include "schemas/validate/pattern.hpp"

namespace sallyport::schema {
namespace {

constexpr char32_t kEnd = 0xFFFFFFFF;
constexpr std::uint32_t kMostRepeats = 65'535;                  // PCRE2's bound
constexpr auto kFar = std::numeric_limits<std::size_t>::max();  // a reference compares as much as its group holds

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_name(std::string_view text) {
  for (const char c : text) {
    if (!is_letter(static_cast<unsigned char>(c)) && !is_digit(static_cast<unsigned char>(c)) && c != '_') return false;
  }
  return !text.empty();
}

// One literal code point, safe inside and outside of a class.
std::string literal(char32_t c) {
  if (is_letter(c) || is_digit(c)) return std::string(1, static_cast<char>(c));
  return fmt::format("\\x{{{:x}}}", static_cast<std::uint32_t>(c));
}

class Translator {
 public:
  Translator(std::string_view text, bool dot_all) : text_(text), dot_all_(dot_all) {}

  Result<Translated> run() {
    count_groups();
    while (!error_ && at_ < text_.size()) term();
    if (!error_ && spans_.any_open()) error("a group is not closed with `)`");
    if (!error_ && spans_.reads_another_round())
      error("a group in a repeated group is referred to where an earlier round may have set it");
    if (error_) return fail(ErrorCode::invalid, std::move(*error_));
    return Translated{std::move(out_), reach_};
  }

 private:
  // What the last term was, for a quantifier after it.
  enum class Last : std::uint8_t { nothing, atom, assertion, quantified };

  void error(std::string message) {
    if (!error_) error_ = fmt::format("{} (at character {})", message, at_ + 1);
  }

  // The code point at `at_`, without moving.
  [[nodiscard]] char32_t peek(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? static_cast<unsigned char>(text_[at_ + ahead]) : kEnd;
  }
  char32_t next() {
    if (at_ >= text_.size()) return kEnd;
    const auto lead = static_cast<unsigned char>(text_[at_++]);
    if (lead < 0x80) return lead;
    const int more = lead >= 0xF0 ? 3 : (lead >= 0xE0 ? 2 : 1);
    char32_t c = lead & (0x3FU >> static_cast<unsigned>(more));
    for (int i = 0; i < more && at_ < text_.size(); ++i)
      c = (c << 6U) | (static_cast<unsigned char>(text_[at_++]) & 0x3FU);
    return c;
  }
  bool take(std::string_view what) {
    if (!text_.substr(at_).starts_with(what)) return false;
    at_ += what.size();
    return true;
  }

  void count_groups() {
    bool in_class = false;
    for (std::size_t i = 0; i < text_.size(); ++i) {
      const char c = text_[i];
      if (c == '\\') {
        ++i;
      } else if (in_class) {
        in_class = c != ']';
      } else if (c == '[') {
        in_class = true;
      } else if (c == '(') {
        const auto rest = text_.substr(i + 1);
        const bool named = rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!");
        if (!rest.starts_with("?") || named) ++groups_;
        names_ = names_ || named;
      }
    }
  }

  void emit(std::string_view what, Last last) {
    out_ += what;
    last_ = last;
    closed_ = false;
  }

  void term() {
    const char32_t c = peek();
    switch (c) {
      case '\\':
        return escape();
      case '[':
        return char_class();
      case '(':
        return group();
      case ')':
        if (!spans_.any_open()) return error("`)` closes no group");
        return close();
      case '|':
        spans_.bar(at_++);
        return emit("|", Last::nothing);
      case '^':
        ++at_;
        return emit("^", Last::assertion);
      case '$':
        ++at_;
        return emit("$", Last::assertion);
      case '.':
        ++at_;
        return emit(dot_all_ ? "." : R"([^\n\r\x{2028}\x{2029}])", Last::atom);
      case '*':
      case '+':
      case '?':
        ++at_;
        return quantifier(std::string(1, static_cast<char>(c)));
      case '{':
        return brace();
      default:
        return emit(literal(next()), Last::atom);
    }
  }

  void quantifier(std::string_view text) {
    if (last_ == Last::quantified) return error("a quantifier follows a quantifier");
    if (last_ != Last::atom) return error("nothing to repeat before a quantifier");
    if (closed_) spans_.quantified(text);
    emit(text, Last::quantified);
    if (take("?")) out_ += '?';
  }

  // `{n}`, `{n,}`, `{n,m}`; anything else is a literal brace.
  void brace() {
    const auto end = text_.find('}', at_);
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool comma = false;
    bool has_high = false;
    bool ok = end != text_.npos && end > at_ + 1 && is_digit(peek(1));
    for (std::size_t i = at_ + 1; ok && i < end; ++i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      if (c == ',' && !comma) {
        comma = true;
      } else if (is_digit(c)) {
        auto& number = comma ? high : low;
        number = std::min<std::uint64_t>(number * 10 + (c - '0'), 1'000'000);
        has_high = comma;
      } else {
        ok = false;
      }
    }
    if (!ok) {
      ++at_;
      return emit(R"(\{)", Last::atom);
    }
    if (has_high && high < low) return error("the numbers of `{…}` are out of order");
    // PCRE2 (10.42) looks for what such a group would begin with all the same.
    if (closed_ && low == 0 && (!comma || (has_high && high == 0)))
      return error("a group is repeated zero times; leave it out");
    if (std::max(low, high) > kMostRepeats) return error("more than 65535 repeats");
    const auto text = text_.substr(at_, end + 1 - at_);
    at_ = end + 1;
    reach_ = std::max(reach_, static_cast<std::size_t>(low) * 4);  // bytes of a code point
    quantifier(text);
  }

  void close() {
    spans_.close(at_++);
    emit(")", Last::atom);
    closed_ = true;
  }

  void group() {
    spans_.open(at_++);
    if (text_.substr(at_).starts_with("?<=") || text_.substr(at_).starts_with("?<!"))
      reach_ = std::max(reach_, text_.size() * 4);  // goes back as far as it is long
    if (peek() == '*') return error("nothing to repeat after `(`");
    if (!take("?")) {
      spans_.captures({});
      return emit("(", Last::nothing);
    }
    for (const std::string_view kind : {":", "=", "!", "<=", "<!"}) {
      if (take(kind)) return emit(fmt::format("(?{}", kind), Last::nothing);
    }
    if (!take("<")) return error("only `(?:`, `(?=`, `(?!`, `(?<=`, `(?<!` and `(?<name>` may follow `(?`");
    const auto end = text_.find('>', at_);
    const auto name = text_.substr(at_, end == text_.npos ? end : end - at_);
    if (end == text_.npos || !is_name(name) || is_digit(static_cast<unsigned char>(name.front()))) {
      return error("a group's name must be letters, digits and `_`");
    }
    at_ = end + 1;
    spans_.captures(name);
    emit(fmt::format("(?<{}>", name), Last::nothing);
  }

  // What an escape means: a code point, or the contents of a class.
  struct Escaped {
    char32_t code = kEnd;
    std::string set;       // contents to put into [...]
    bool negated = false;  // the set is what is not meant
  };

  void escape() {
    ++at_;
    const char32_t c = peek();
    if (c == 'b' || c == 'B') {
      ++at_;
      return emit(c == 'b' ? R"(\b)" : R"(\B)", Last::assertion);
    }
    if (c == 'k' && (names_ || peek(1) == '<')) return named_reference();
    if (c >= '1' && c <= '9') return numbered_reference();
    Escaped escaped = class_escape();
    if (error_) return;
    if (escaped.code != kEnd) return emit(literal(escaped.code), Last::atom);
    emit(fmt::format("[{}{}]", escaped.negated ? "^" : "", escaped.set), Last::atom);
  }

  void named_reference() {
    reach_ = kFar;
    ++at_;
    const auto end = text_.find('>', at_);
    if (!take("<") || end == text_.npos || !is_name(text_.substr(at_, end - at_))) {
      return error("`\\k` needs a group's name: `\\k<name>`");
    }
    spans_.refers(at_, 0, text_.substr(at_, end - at_));
    emit(fmt::format("\\k<{}>", text_.substr(at_, end - at_)), Last::atom);
    at_ = end + 1;
  }

  void numbered_reference() {
    reach_ = kFar;
    const std::size_t at = at_;
    std::uint64_t number = 0;
    while (is_digit(peek())) number = std::min<std::uint64_t>(number * 10 + (next() - '0'), 1'000'000);
    if (number > groups_) return error(fmt::format("`\\{}` refers to a group that does not exist", number));
    spans_.refers(at, number, {});
    emit(fmt::format("\\g{{{}}}", number), Last::atom);
  }

  std::optional<char32_t> hex(std::size_t digits) {
    char32_t value = 0;
    for (std::size_t i = 0; i < digits; ++i) {
      const char32_t c = peek(i);
      const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_digit(c) && !letter) return std::nullopt;
      value = value * 16 + (is_digit(c) ? c - '0' : (c | 0x20U) - 'a' + 10);
    }
    at_ += digits;
    return value;
  }

  char32_t unicode_escape() {
    if (take("{")) {
      char32_t value = 0;
      std::size_t digits = 0;
      while (auto digit = hex(1)) {
        value = std::min<char32_t>(value * 16 + *digit, 0x110000);
        ++digits;
      }
      if (digits == 0 || value > 0x10FFFF || !take("}")) error("`\\u{…}` is no code point");
      return value;
    }
    auto value = hex(4);
    if (!value) {
      error("`\\u` needs four hexadecimal digits");
      return 0;
    }
    if (*value >= 0xD800 && *value < 0xDC00) {
      const auto back = at_;
      if (take("\\u")) {
        const auto low = hex(4);
        if (low && *low >= 0xDC00 && *low < 0xE000) return 0x10000 + ((*value - 0xD800) << 10U) + (*low - 0xDC00);
      }
      at_ = back;
    }
    if (*value >= 0xD800 && *value < 0xE000) error("half of a surrogate pair matches no text; write `\\u{…}`");
    return *value;
  }

  Escaped property(bool negated) {
    const auto end = text_.find('}', at_);
    if (!take("{") || end == text_.npos) {
      error("`\\p` needs a property in braces");
      return {};
    }
    std::string_view name = text_.substr(at_, end - at_);
    at_ = end + 1;
    std::string_view key;
    if (const auto equals = name.find('='); equals != name.npos) {
      key = name.substr(0, equals);
      name = name.substr(equals + 1);
    }
    if (!is_name(name) || (!key.empty() && !is_name(key))) {
      error("`\\p{…}` names no property");
      return {};
    }
    const char sign = negated ? 'P' : 'p';
    const bool category = key == "gc" || key == "General_Category";
    if (key.empty() && name == "ASCII") return {kEnd, R"(\x{0}-\x{7f})", negated};
    if (key.empty() && name == "Assigned") return {kEnd, negated ? R"(\p{Cn})" : R"(\P{Cn})"};
    if (key.empty() || category) {
      for (const auto& [from, to] : kCategories) {
        if (name == from) return {kEnd, fmt::format("\\{}{{{}}}", sign, to)};
      }
      return {kEnd, fmt::format("\\{}{{{}}}", sign, name)};
    }
    if (key == "sc" || key == "Script") return {kEnd, fmt::format("\\{}{{sc:{}}}", sign, name)};
    if (key == "scx" || key == "Script_Extensions") return {kEnd, fmt::format("\\{}{{scx:{}}}", sign, name)};
    error(fmt::format("`\\p{{{}=…}}` is no property of ECMA-262", key));
    return {};
  }

  // After the backslash, inside and outside of classes.
  Escaped class_escape() {
    const char32_t c = next();
    switch (c) {
      case 'd':
        return {kEnd, "0-9"};
      case 'D':
        return {kEnd, "0-9", true};
      case 'w':
        return {kEnd, "A-Za-z0-9_"};
      case 'W':
        return {kEnd, "A-Za-z0-9_", true};
      case 's':
        return {kEnd, std::string(kSpace)};
      case 'S':
        return {kEnd, std::string(kNotSpace)};
      case 'p':
      case 'P':
        return property(c == 'P');
      case 't':
        return {'\t'};
      case 'n':
        return {'\n'};
      case 'v':
        return {'\v'};
      case 'f':
        return {'\f'};
      case 'r':
        return {'\r'};
      case '0':
        if (is_digit(peek())) error("octal escapes are not in ECMA-262's Unicode grammar; write `\\x…`");
        return {0};
      case 'c':
        if (is_letter(peek())) return {next() & 0x1FU};
        error("`\\c` needs a letter");
        return {};
      case 'x':
        if (const auto value = hex(2)) return {*value};
        error("`\\x` needs two hexadecimal digits");
        return {};
      case 'u':
        return {unicode_escape()};
      case kEnd:
        error("the pattern ends in a backslash");
        return {};
      default:
        if (is_letter(c) || is_digit(c)) error(fmt::format("`\\{}` is no escape of ECMA-262", static_cast<char>(c)));
        return {c};
    }
  }

  // The contents of a class for a set, whose complement is written out where PCRE2 has no other way.
  static std::string set_in_class(const Escaped& item) {
    if (!item.negated) return item.set;
    if (item.set == "0-9") return R"(\D)";
    if (item.set == "A-Za-z0-9_") return R"(\W)";
    return R"(\x{80}-\x{10ffff})";  // not ASCII
  }

  Escaped class_atom() {
    if (peek() != '\\') return {next()};
    ++at_;
    if (take("b")) return {'\b'};
    if (take("-")) return {'-'};
    return class_escape();
  }

  void char_class() {
    ++at_;
    const bool negated = take("^");
    if (take("]")) return emit(negated ? "(?s:.)" : "(?!)", Last::atom);
    std::string set;
    while (!error_ && peek() != ']') {
      if (peek() == kEnd) return error("a class is not closed with `]`");
      const Escaped low = class_atom();
      const bool range = peek() == '-' && peek(1) != ']' && peek(1) != kEnd;
      if (low.code == kEnd) {
        set += set_in_class(low);
        if (!range) continue;
        // `[\d-a-z]`: no range begins at a set, so the dash and what follows it stand for themselves.
        ++at_;
        const Escaped after = class_atom();
        set += R"(\-)" + (after.code == kEnd ? set_in_class(after) : literal(after.code));
        continue;
      }
      set += literal(low.code);
      if (!range) continue;
      const auto dash = at_++;
      const Escaped high = class_atom();
      if (high.code == kEnd) {  // `[a-\d]`: a literal dash between
        set += R"(\-)" + set_in_class(high);
      } else if (high.code < low.code) {
        at_ = dash;
        error("a range of a class is out of order");
      } else {
        set += "-" + literal(high.code);
      }
    }
    if (error_) return;
    ++at_;
    emit(fmt::format("[{}{}]", negated ? "^" : "", set), Last::atom);
  }

  std::string_view text_;
  bool dot_all_;
  std::size_t at_ = 0;
  std::string out_;
  std::optional<std::string> error_;
  Last last_ = Last::nothing;
  EcmaGroups spans_;
  bool closed_ = false;  // the last term was a group
  std::size_t groups_ = 0;
  std::size_t reach_ = 0;
  bool names_ = false;
};

}  // namespace

Result<Translated> ecma_to_pcre2(std::string_view pattern, bool dot_all) { return Translator(pattern, dot_all).run(); }

}  // namespace sallyport::schema
