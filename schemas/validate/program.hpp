// The compiled form of a schema: flat arrays that refer to each other by number. For the sources of this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/validate/decimal.hpp"
#include "schemas/validate/formats.hpp"
#include "schemas/validate/keywords.hpp"
#include "schemas/validate/pattern.hpp"
#include "schemas/validate/schema.hpp"

namespace sallyport::schema {

using SubId = std::uint32_t;
inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

// Evaluation nests no deeper than this, in schema and instance together; each takes a few hundred bytes of stack.
inline constexpr std::uint32_t kMaxFrames = 1024;
// Chains of subschemas that apply to one and the same place ($ref, allOf, …).
inline constexpr std::uint32_t kMaxInPlace = 256;

// A range of one of Program's arrays.
struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

// Types of `type`, one bit each.
enum TypeBit : std::uint8_t {
  kNullBit = 1,
  kBooleanBit = 2,
  kNumberBit = 4,
  kStringBit = 8,
  kArrayBit = 16,
  kObjectBit = 32,
  kIntegerBit = 64,
  kAnyType = 0x7F,
};

// What applies to the very value at hand.
enum class Op : std::uint8_t { ref, dynamic_ref, all_of, any_of, one_of, not_, if_, enum_, const_ };
struct Instruction {
  Op op;
  Keyword keyword;  // for faults
  Range range;      // of lists: subs; ref, not: begin is the sub; dynamic_ref, enum: begin is the index of its part
};

struct NumberPart {
  std::uint32_t minimum = kNone, maximum = kNone, exclusive_minimum = kNone, exclusive_maximum = kNone,
                multiple_of = kNone;
};

struct StringPart {
  std::uint64_t min_length = 0;
  std::uint64_t max_length = kUnbounded;
  std::uint32_t pattern = kNone;
  Format format = Format::none;
};

struct ArrayPart {
  std::uint64_t min_items = 0, max_items = kUnbounded, min_contains = 1, max_contains = kUnbounded;
  Range prefix;  // of subs
  SubId items = kNone;
  SubId contains = kNone;
  Keyword prefix_keyword = Keyword::prefix_items;
  Keyword items_keyword = Keyword::items;
  bool unique = false;
  bool contains_marks = false;  // 2020-12: what matches `contains` is evaluated
};

struct Name {
  std::string_view text;
  SubId sub = kNone;               // of `properties`
  std::uint32_t required = kNone;  // place in `required`
};

struct PatternProperty {
  std::uint32_t pattern;
  SubId sub;
};

struct Dependent {
  std::string_view name;
  SubId sub = kNone;  // or
  Range required;     // of words
  Keyword keyword = Keyword::dependencies;
};

struct ObjectPart {
  std::uint64_t min_properties = 0, max_properties = kUnbounded;
  Range names;  // sorted by length, then bytes
  std::uint32_t required = 0;
  Range patterns;
  Range dependents;
  SubId additional = kNone;
  SubId property_names = kNone;
};

struct EnumPart {
  Range strings;  // of words, sorted by length, then bytes
  Range others;   // of values
};

struct DynamicPart {
  std::uint32_t name;  // number of the dynamic anchor's name; $recursiveRef has one of its own
  SubId target;        // of the first resolution
};

// Names that must not have lookalikes among an instance's members: all that may be declared for one place.
struct NameTable {
  Range names;   // of words, sorted by length, then bytes
  Range folded;  // of folded names, sorted likewise
};
struct FoldedName {
  std::string_view folded;
  std::string_view name;
};

struct Sub {
  json::Value node;
  std::uint32_t resource = 0;
  std::uint8_t types = kAnyType;
  bool never = false;           // the schema `false`
  bool strict_integer = false;  // draft-04: 1.0 is no integer
  Range instructions;
  std::uint32_t number = kNone, string = kNone, array = kNone, object = kNone;  // parts
  SubId unevaluated_items = kNone, unevaluated_properties = kNone;
  std::uint32_t name_table = kNone;
};

struct ProgramResource {
  std::string uri;
  Dialect dialect = Dialect::draft2020_12;
};

struct DynamicTarget {
  std::uint32_t resource;
  std::uint32_t name;
  SubId sub;
};

struct Program {
  std::vector<std::unique_ptr<json::Document>> documents;  // the first is the schema itself
  SubId root = 0;
  std::uint64_t steps = 0;  // limit of one validation
  std::vector<ProgramResource> resources;
  std::vector<Sub> subs;
  std::vector<Instruction> instructions;
  std::vector<SubId> lists;
  std::vector<NumberPart> numbers;
  std::vector<StringPart> strings;
  std::vector<ArrayPart> arrays;
  std::vector<ObjectPart> objects;
  std::vector<EnumPart> enums;
  std::vector<DynamicPart> dynamics;
  std::vector<DynamicTarget> dynamic_targets;  // by name, then resource
  std::vector<Decimal> decimals;
  std::vector<Regex> patterns;
  std::vector<Name> names;
  std::vector<PatternProperty> pattern_properties;
  std::vector<Dependent> dependents;
  std::vector<std::string_view> words;
  std::vector<json::Value> values;
  std::vector<NameTable> name_tables;
  std::vector<FoldedName> folded;
  std::deque<std::string> pool;  // texts that stand escaped in the schema, and folded ones
  std::size_t pool_bytes = 0;

  template <class T>
  [[nodiscard]] static std::span<const T> slice(const std::vector<T>& all, Range range) {
    return std::span<const T>(all).subspan(range.begin, range.count);
  }
  // The targets of a dynamic anchor's name, by resource.
  [[nodiscard]] std::span<const DynamicTarget> targets_of(std::uint32_t name) const {
    const auto found = std::ranges::equal_range(dynamic_targets, name, {}, &DynamicTarget::name);
    return {found.begin(), found.end()};
  }
  // A view of a string value's text that lives as long as the program.
  std::string_view text(json::Value string) {
    if (const auto plain = string.plain_string()) return *plain;
    return keep(string.string());
  }
  std::string_view keep(std::string text) {
    pool_bytes += sizeof(std::string) + text.size();
    return pool.emplace_back(std::move(text));
  }
};

// The order of names and words: cheap to compare, and no hash that hostile names could make collide.
struct ByLength {
  bool operator()(std::string_view a, std::string_view b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

}  // namespace sallyport::schema
