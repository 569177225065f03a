#include "schemas/core/canonical.hpp"
#include "schemas/core/is_canonical.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <forward_list>
#include <optional>
#include <stdexcept>
#include <variant>

#include "schemas/core/unicode.hpp"

namespace sallyport::json {
namespace {

// The order of the UTF-16 forms of two UTF-8 texts. It differs from the order of the bytes only where a character above
// U+FFFF, whose surrogates begin at U+D800, meets one from U+E000 on: F0 and up against EE and EF.
bool utf16_less(std::string_view a, std::string_view b) {
  const auto [x, y] = std::ranges::mismatch(a, b);
  if (x == a.end() || y == b.end()) return x == a.end() && y != b.end();
  const auto left = static_cast<unsigned char>(*x);
  const auto right = static_cast<unsigned char>(*y);
  if (left >= 0xEE && right >= 0xEE && (left >= 0xF0) != (right >= 0xF0)) return left >= 0xF0;
  return left < right;
}

// Looks first: texts that machines made are often sorted.
template <class Range, class Less>
void sort_if_needed(Range&& range, Less less) {
  if (!std::ranges::is_sorted(range, less)) std::ranges::sort(range, less);
}

// A string as it stands: without escapes, or with those that the canonical form has.
bool is_canonical_string(Value value) {
  if (value.plain_string()) return true;
  std::string quoted;
  unicode::quote_into(value.string(), quoted);
  return quoted == value.raw();
}

bool are_names_sorted(Value object) {
  std::optional<Value> before;
  for (const auto [key, value] : object.members()) {
    if (before) {
      const auto a = before->plain_string(), b = key.plain_string();
      const bool less = a && b ? utf16_less(*a, *b) : utf16_less(before->string(), key.string());
      if (!less && !(before->string() == key.string())) return false;
    }
    before = key;
  }
  return true;
}

// Writes one Value without recursion.
class Canonical {
 public:
  Canonical(Value root, std::span<const std::string> without) : document_(*root.document()), root_(root) {
    for (const auto& pointer : without) {
      const Value value = root.at(pointer);
      if (value && !pointer.empty()) without_.push_back(value.index());
    }
    std::ranges::sort(without_);
    out_.reserve(root.raw().size());
  }

  std::string write() {
    begin(root_);
    while (!open_.empty()) step();
    return std::move(out_);
  }

 private:
  // An open container; what it still has to write lies on todo_ from `first` on, the next one last.
  struct Open {
    std::size_t first;
    char closing;
    bool comma;
  };
  struct Entry {
    std::string_view name;  // decoded
    std::uint32_t index;    // of the key, or of the element
  };

  void begin(Value value) {
    switch (value.kind()) {
      case Kind::null:
      case Kind::boolean:
      case Kind::number:
        out_ += value.raw();
        return;
      case Kind::string:
        string(value);
        return;
      case Kind::array:
        return begin_array(value);
      case Kind::object:
        return begin_object(value);
    }
  }

  void begin_array(Value array) {
    out_ += '[';
    const std::size_t first = todo_.size();
    for (const Value element : array.elements()) {
      if (!left_out(element)) todo_.push_back(element.index());
    }
    std::reverse(todo_.begin() + static_cast<std::ptrdiff_t>(first), todo_.end());
    open_.push_back({first, ']', false});
  }

  void begin_object(Value object) {
    out_ += '{';
    const std::size_t first = todo_.size();
    entries_.clear();
    decoded_.clear();
    for (const auto [key, value] : object.members()) {
      if (left_out(value)) continue;
      const auto plain = key.plain_string();
      entries_.push_back({plain ? *plain : std::string_view(decoded_.emplace_front(key.string())), key.index()});
    }
    sort_if_needed(entries_, [](const Entry& a, const Entry& b) {
      return a.name == b.name ? a.index < b.index : utf16_less(a.name, b.name);
    });
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) todo_.push_back(entry->index);
    open_.push_back({first, '}', false});
  }

  // The next member or element of the innermost container, or its end.
  void step() {
    Open& open = open_.back();
    if (todo_.size() == open.first) {
      out_ += open.closing;
      open_.pop_back();
      return;
    }
    if (open.comma) out_ += ',';
    open.comma = true;
    const std::uint32_t index = todo_.back();
    todo_.pop_back();
    if (open.closing == ']') return begin(document_.node(index));
    string(document_.node(index));
    out_ += ':';
    begin(document_.node(index + 1));
  }

  void string(Value value) {
    if (value.plain_string()) {
      out_ += value.raw();  // no escapes: nothing in it needs one
    } else {
      unicode::quote_into(value.string(), out_);
    }
  }

  bool left_out(Value value) const { return std::ranges::binary_search(without_, value.index()); }

  const Document& document_;
  Value root_;
  std::vector<std::uint32_t> without_;
  std::vector<std::uint32_t> todo_;
  std::vector<Open> open_;
  std::vector<Entry> entries_;
  std::forward_list<std::string> decoded_;
  std::string out_;
};

// The same for a value of our own.
class CanonicalOwn {
 public:
  std::string write(const boost::json::value& root) {
    begin(root);
    while (!open_.empty()) step();
    return std::move(out_);
  }

 private:
  using Member = const boost::json::key_value_pair*;
  struct Open {
    const boost::json::array* array;  // or, where it is null, the members
    std::vector<Member> members;
    std::size_t next = 0;
  };

  void begin(const boost::json::value& value) {
    namespace bj = boost::json;
    switch (value.kind()) {
      case bj::kind::null:
        out_ += "null";
        return;
      case bj::kind::bool_:
        out_ += value.get_bool() ? "true" : "false";
        return;
      case bj::kind::int64:
        out_ += std::to_string(value.get_int64());
        return;
      case bj::kind::uint64:
        out_ += std::to_string(value.get_uint64());
        return;
      case bj::kind::double_:
        throw std::logic_error("a double has no canonical form here");
      case bj::kind::string:
        unicode::quote_into(value.get_string(), out_);
        return;
      case bj::kind::array: {
        out_ += '[';
        open_.push_back({&value.get_array(), {}});
        return;
      }
      case bj::kind::object: {
        out_ += '{';
        std::vector<Member> members;
        members.reserve(value.get_object().size());
        for (const auto& member : value.get_object()) members.push_back(&member);
        sort_if_needed(members, [](Member a, Member b) { return utf16_less(a->key(), b->key()); });
        open_.push_back({nullptr, std::move(members)});
        return;
      }
    }
  }

  void step() {
    Open& open = open_.back();
    const std::size_t size = open.array != nullptr ? open.array->size() : open.members.size();
    if (open.next == size) {
      out_ += open.array != nullptr ? ']' : '}';
      open_.pop_back();
      return;
    }
    if (open.next > 0) out_ += ',';
    const std::size_t at = open.next++;
    if (open.array != nullptr) return begin((*open.array)[at]);
    const Member member = open.members[at];
    unicode::quote_into(member->key(), out_);
    out_ += ':';
    begin(member->value());  // may move `open`
  }

  std::vector<Open> open_;
  std::string out_;
};

constexpr std::size_t kMaxLevels = 32;

}  // namespace

std::string canonical(Value value, std::span<const std::string> without) { return Canonical(value, without).write(); }

bool is_canonical(const Document& document) {
  // What the text would have at least; any space makes it longer.
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < document.node_count(); ++i) {
    const Value node = document.node(i);
    if (node.is_object()) {
      if (!are_names_sorted(node)) return false;
      size += 2 + (node.size() > 0 ? 2 * node.size() - 1 : 0);
    } else if (node.is_array()) {
      size += 2 + (node.size() > 0 ? node.size() - 1 : 0);
    } else {
      if (node.is_string() && !is_canonical_string(node)) return false;
      size += node.raw().size();
    }
  }
  return size == document.text().size();
}

std::string canonical(const boost::json::value& value) { return CanonicalOwn().write(value); }

std::string pretty(Value value, std::size_t indent) {
  const Document& document = *value.document();
  std::string out;
  struct Open {
    std::uint32_t end;
    bool object;
  };
  std::vector<Open> open;
  const auto line = [&] {
    out += '\n';
    out.append(indent + 2 * std::min(open.size(), kMaxLevels), ' ');
  };
  const std::uint32_t end = value.next_index();
  std::uint32_t index = value.index();
  bool first = true;
  for (;;) {
    while (!open.empty() && index == open.back().end) {
      const bool object = open.back().object;
      open.pop_back();
      line();
      out += object ? '}' : ']';
      first = false;
    }
    if (index == end) return out;
    if (!open.empty()) {
      if (!first) out += ',';
      line();
      if (open.back().object) {
        out.append(document.node(index).raw()).append(": ");
        ++index;
      }
    }
    const Value node = document.node(index++);
    first = false;
    if (node.size() > 0) {
      out += node.is_object() ? '{' : '[';
      open.push_back({node.next_index(), node.is_object()});
      first = true;
    } else if (node.is_object() || node.is_array()) {
      out += node.is_object() ? "{}" : "[]";
    } else {
      out += node.raw();
    }
  }
}

}  // namespace sallyport::json
