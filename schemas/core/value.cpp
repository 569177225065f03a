#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/number.hpp"
#include "schemas/core/scanner.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport::json {
namespace {

std::string_view without_quotes(std::string_view raw) { return raw.substr(1, raw.size() - 2); }

// RFC 6901: `0`, or digits without a zero in front. nullopt: no index, or past every array.
std::optional<std::uint32_t> array_index(std::string_view step) {
  if (step.empty() || step.size() > 10 || (step.size() > 1 && step[0] == '0')) return std::nullopt;
  std::uint64_t index = 0;
  for (const char c : step) {
    if (c < '0' || c > '9') return std::nullopt;
    index = index * 10 + static_cast<std::uint64_t>(c - '0');
  }
  if (index > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(index);
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "boolean";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string";
    case Kind::array:
      return "array";
    case Kind::object:
      return "object";
  }
  return "null";
}

Result<Document> Document::parse(std::string text, const Limits& limits) {
  Document document;
  document.text_ = std::move(text);
  if (auto scanned = Scanner(document, limits).run(); !scanned) return fail(std::move(scanned.error()));
  return document;
}

Position Document::position(std::size_t offset) const {
  Position position;
  const char* line = text_.data();
  const char* end = line + std::min(offset, text_.size());
  while (const void* feed = std::memchr(line, '\n', static_cast<std::size_t>(end - line))) {
    ++position.line;
    line = static_cast<const char*>(feed) + 1;
  }
  position.column = static_cast<std::uint32_t>(end - line) + 1;
  return position;
}

std::size_t Document::memory() const { return sizeof(*this) + text_.capacity() + nodes_.capacity() * sizeof(Node); }

std::optional<std::int64_t> Value::integer() const { return is_number() ? Decimal(raw()).integer() : std::nullopt; }

double Value::real() const {
  const auto token = raw();
  double value = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  if (error == std::errc()) return value;
  const Decimal decimal(token);
  const double magnitude = decimal.top() > 0 ? std::numeric_limits<double>::infinity() : 0.0;
  return std::copysign(magnitude, decimal.negative() ? -1.0 : 1.0);
}

std::string Value::string() const {
  if (!is_string()) return {};
  const auto inside = without_quotes(raw());
  if ((document_->nodes_[index_].flags & Document::kEscapes) == 0) return std::string(inside);
  std::string text;
  unicode::unescape_into(inside, text);
  return text;
}

std::optional<std::string_view> Value::plain_string() const {
  if (!is_string() || (document_->nodes_[index_].flags & Document::kEscapes) != 0) return std::nullopt;
  return without_quotes(raw());
}

bool Value::equals(std::string_view text) const {
  if (!is_string()) return false;
  if (const auto plain = plain_string()) return *plain == text;
  // An escape is longer than what it stands for, by six to one at most.
  const auto inside = without_quotes(raw());
  return text.size() < inside.size() && inside.size() <= text.size() * 6 && string() == text;
}

Value Value::find(std::string_view name) const {
  if (!is_object()) return {};
  const auto& nodes = document_->nodes_;
  const char* text = document_->text_.data();
  const std::uint32_t end = nodes[index_].next;
  for (std::uint32_t key = index_ + 1; key < end; key = nodes[key + 1].next) {
    const auto& node = nodes[key];
    const bool hit = (node.flags & Document::kEscapes) != 0
                         ? Value(document_, key).equals(name)
                         : std::string_view(text + node.begin + 1, node.end - node.begin - 2) == name;
    if (hit) return {document_, key + 1};
  }
  return {};
}

Value Value::at(std::string_view pointer) const {
  if (pointer.empty() || document_ == nullptr) return *this;
  const auto steps = pointer_steps(pointer);
  if (!steps) return {};
  Value value = *this;
  for (const auto& step : *steps) {
    if (value.is_object()) {
      value = value.find(step);
    } else if (value.is_array()) {
      const auto wanted = array_index(step);
      if (!wanted || *wanted >= value.size()) return {};
      auto element = value.elements().begin();
      for (std::uint32_t i = 0; i < *wanted; ++i) ++element;
      value = *element;
    } else {
      return {};
    }
    if (!value) return {};
  }
  return value;
}

std::optional<Value::Mark> Value::ambiguity() const {
  if (document_ == nullptr) return std::nullopt;
  const auto& nodes = document_->nodes_;
  if ((nodes[index_].flags & (Document::kMarks | Document::kMarkWithin)) == 0) return std::nullopt;
  for (std::uint32_t i = index_; i < nodes[index_].next; ++i) {
    const auto flags = nodes[i].flags;
    if ((flags & Document::kMarks) == 0) continue;
    const auto what = (flags & Document::kUnsafe) != 0      ? Ambiguity::unsafe_number
                      : (flags & Document::kDuplicate) != 0 ? Ambiguity::duplicate_name
                                                            : Ambiguity::lookalike_name;
    return Mark{what, nodes[i].begin, Value(document_, i).pointer()};
  }
  return std::nullopt;
}

Position Value::position() const { return document_->position(offset()); }

std::string Value::pointer() const {
  const auto& nodes = document_->nodes_;
  std::string pointer;
  std::uint32_t at = 0;
  while (at != index_) {
    const bool object = nodes[at].kind == Kind::object;
    std::uint32_t child = at + 1;
    std::uint32_t place = 0;
    // A member begins at its key, an element at itself; both end where the value does.
    for (;; ++place) {
      const std::uint32_t next = nodes[object ? child + 1 : child].next;
      if (index_ < next) break;
      child = next;
    }
    pointer += '/';
    pointer += object ? pointer_step(Value(document_, child).string()) : std::to_string(place);
    at = object && index_ != child ? child + 1 : child;
  }
  return pointer;
}

}  // namespace sallyport::json
