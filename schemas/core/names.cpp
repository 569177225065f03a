// Marks for member names that a parser may take for one another.
#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "schemas/core/scanner.hpp"
#include "schemas/core/unicode.hpp"

namespace sallyport::json {
namespace {

constexpr std::uint32_t kFew = 16;

// Equal for ASCII names that differ only by case; seldom for others.
std::uint64_t rough(std::string_view name) {
  constexpr std::uint64_t kLower = 0x2020202020202020;
  std::uint64_t head = 0;
  std::uint64_t tail = 0;
  if (name.size() >= 8) {
    std::memcpy(&head, name.data(), 8);
    std::memcpy(&tail, name.data() + name.size() - 8, 8);
  } else {
    for (const char c : name) head = head << 8 | static_cast<unsigned char>(c);
  }
  return ((head | kLower) * 0x9E3779B97F4A7C15) ^ (tail | kLower) ^ (static_cast<std::uint64_t>(name.size()) << 56);
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

// Where a name's folded or decoded form lies: in the text or in the arena.
struct Slice {
  std::size_t begin;
  std::uint32_t size;
  bool arena;
};

struct Name {
  Slice folded;
  Slice decoded;
  std::uint32_t key;
};

bool lower_ascii(std::string_view name) {
  return std::ranges::all_of(name,
                             [](char c) { return static_cast<unsigned char>(c) < 0x80 && !(c >= 'A' && c <= 'Z'); });
}

// Behind `begin` in the arena. (A size above 4 GiB cannot be told; such names then count as alike.)
Slice arena_slice(std::size_t begin, const std::string& arena) {
  constexpr std::size_t kMax = 0xFFFFFFFF;
  return {begin, static_cast<std::uint32_t>(std::min(arena.size() - begin, kMax)), true};
}

}  // namespace

std::string_view Scanner::inside(std::uint32_t key) const {
  const Node& node = nodes_[key];
  return {begin_ + node.begin + 1, node.end - node.begin - 2};
}

void Scanner::mark(Node& object, std::uint32_t key, std::uint8_t flag) {
  nodes_[key].flags |= flag;
  object.flags |= Document::kMarkWithin;
}

void Scanner::check_names(Node& object) {
  if (object.count > kFew) return check_names_sorted(object);
  std::array<std::uint64_t, kFew> roughs;
  std::array<std::uint32_t, kFew> keys;
  std::uint32_t key = static_cast<std::uint32_t>(&object - nodes_.data()) + 1;
  for (std::uint32_t i = 0; i < object.count; ++i) {
    if ((nodes_[key].flags & (Document::kEscapes | Document::kNotAscii)) != 0) return check_names_sorted(object);
    const auto name = inside(key);
    roughs[i] = rough(name);
    keys[i] = key;
    for (std::uint32_t j = 0; j < i; ++j) {
      if (roughs[i] != roughs[j] || !equal_ignoring_case(name, inside(keys[j]))) continue;
      mark(object, key, name == inside(keys[j]) ? Document::kDuplicate : Document::kLookalike);
    }
    key = nodes_[key + 1].next;
  }
}

// By sorting, not by hashing: names are hostile, and a hash that anyone can compute lets them collide.
void Scanner::check_names_sorted(Node& object) {
  std::string arena;
  std::string decoded;
  std::vector<Name> names;
  names.reserve(object.count);
  std::uint32_t key = static_cast<std::uint32_t>(&object - nodes_.data()) + 1;
  for (std::uint32_t i = 0; i < object.count; ++i, key = nodes_[key + 1].next) {
    std::string_view text = inside(key);
    Name name{{nodes_[key].begin + std::size_t{1}, static_cast<std::uint32_t>(text.size()), false}, {}, key};
    name.decoded = name.folded;
    if ((nodes_[key].flags & Document::kEscapes) != 0) {
      decoded.clear();
      unicode::unescape_into(text, decoded);
      text = decoded;
      arena += decoded;
      name.decoded = name.folded = arena_slice(arena.size() - decoded.size(), arena);
    }
    if (!lower_ascii(text)) {
      const std::size_t begin = arena.size();
      if (unicode::fold_into(text, arena) == unicode::Folded::grouped) mark(object, key, Document::kLookalike);
      name.folded = arena_slice(begin, arena);
    }
    names.push_back(name);
  }
  const auto view = [&](const Slice& slice) {
    return std::string_view((slice.arena ? arena.data() : begin_) + slice.begin, slice.size);
  };
  std::ranges::sort(names, [&](const Name& a, const Name& b) {
    if (const auto order = view(a.folded) <=> view(b.folded); order != 0) return order < 0;
    if (const auto order = view(a.decoded) <=> view(b.decoded); order != 0) return order < 0;
    return a.key < b.key;
  });
  // Runs of one folded form hold runs of one decoded form. The earliest name of all keeps clean.
  for (std::size_t begin = 0; begin < names.size();) {
    std::size_t end = begin + 1;
    std::uint32_t earliest = names[begin].key;
    for (; end < names.size() && view(names[end].folded) == view(names[begin].folded); ++end) {
      earliest = std::min(earliest, names[end].key);
    }
    for (std::size_t i = begin; i < end; ++i) {
      const bool again = i > begin && view(names[i].decoded) == view(names[i - 1].decoded);
      if (names[i].key != earliest) mark(object, names[i].key, again ? Document::kDuplicate : Document::kLookalike);
    }
    begin = end;
  }
}

}  // namespace sallyport::json
