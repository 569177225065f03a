// json::Document holds every foreign JSON text: the bytes as they came and a flat array of nodes, made by one
// non-recursive scan (design section 13). Numbers stay tokens; a slice is a node; nothing is ever re-printed.
//
// The scan refuses what is no JSON text (form, UTF-8, lone surrogates, depth, size). It *marks* what is JSON but cannot
// be judged unambiguously (promise 10): Value::ambiguity() finds such marks in a subtree and the caller decides.
//
// A Document is immutable and movable; Values are cheap views (pointer and index) that live no longer than their
// Document, which must not be moved while they are used (keep it behind a unique_ptr or a shared_ptr<const>, or
// take root() again). Safe to read from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/result.hpp"

namespace sallyport::json {

struct Limits {
  std::size_t bytes = 4U << 20;  // of text; never above 4 GiB - 1
  std::uint32_t depth = 128;     // of nested arrays and objects; a scalar document has depth 0
  bool comments = false;         // config files: // and /* */ comments and trailing commas
};

enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
[[nodiscard]] std::string_view to_string(Kind kind);

// What makes a text ambiguous: different parsers may read it differently.
enum class Ambiguity : std::uint8_t {
  duplicate_name,  // two members of one object have the same name
  lookalike_name,  // two names of one object differ only by case, width or normalisation (NFKC, case folded)
  unsafe_number,   // the nearest double is infinite, or zero when the token is not; or longer than 1,024 characters
};

struct Position {
  std::uint32_t line = 1;    // from 1
  std::uint32_t column = 1;  // in bytes, from 1
};

class Document;
class Members;
class Elements;

// A view of one node. A default-made Value is absent: `if (value)` is false. An absent value is of no kind, equals
// nothing, has no members and finds nothing, so that find().find() is safe; kind(), raw(), offset(), number(), real(),
// position(), pointer() and the indices must not be asked of it. What belongs to one kind (equals, integer, string,
// find…) answers no or empty for the others.
class Value {
 public:
  Value() = default;
  explicit operator bool() const { return document_ != nullptr; }

  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool is_null() const { return is(Kind::null); }
  [[nodiscard]] bool is_bool() const { return is(Kind::boolean); }
  [[nodiscard]] bool is_number() const { return is(Kind::number); }
  [[nodiscard]] bool is_string() const { return is(Kind::string); }
  [[nodiscard]] bool is_array() const { return is(Kind::array); }
  [[nodiscard]] bool is_object() const { return is(Kind::object); }

  [[nodiscard]] std::string_view raw() const;     // the exact bytes of this value, quotes and braces included
  [[nodiscard]] std::size_t offset() const;       // of raw() in the text
  [[nodiscard]] bool boolean() const;             // of a boolean
  [[nodiscard]] std::string_view number() const;  // the token of a number
  [[nodiscard]] std::optional<std::int64_t> integer()
      const;                                 // of a number that is mathematically an int64 (1.0 and 1e2 are)
  [[nodiscard]] double real() const;         // nearest double of a number
  [[nodiscard]] std::string string() const;  // decoded text of a string
  [[nodiscard]] std::optional<std::string_view> plain_string() const;  // without a copy, if the string has no escapes
  [[nodiscard]] bool equals(std::string_view text) const;              // is a string with that decoded text

  [[nodiscard]] std::size_t size() const;                  // members or elements; 0 for scalars
  [[nodiscard]] Members members() const;                   // of an object, in the order of the text; empty for others
  [[nodiscard]] Elements elements() const;                 // of an array; empty for others
  [[nodiscard]] Value find(std::string_view name) const;   // member by decoded name (the first), or absent
  [[nodiscard]] Value at(std::string_view pointer) const;  // RFC 6901 pointer, or absent
  // The first mark in this subtree, in order of the text.
  struct Mark {
    Ambiguity what;
    std::size_t offset;
    std::string pointer;
  };
  [[nodiscard]] std::optional<Mark> ambiguity() const;
  [[nodiscard]] Position position() const;    // of the first byte in the document's text
  [[nodiscard]] std::string pointer() const;  // RFC 6901, from the root

  [[nodiscard]] const Document* document() const { return document_; }
  [[nodiscard]] std::uint32_t index() const { return index_; }
  [[nodiscard]] std::uint32_t next_index() const;  // of the node after this subtree

 private:
  friend class Document;
  friend class Members;
  friend class Elements;
  Value(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
  [[nodiscard]] bool is(Kind kind) const;
  const Document* document_ = nullptr;
  std::uint32_t index_ = 0;
};

// Equal as JSON values: names unordered (equal names pair up in the order of the text), strings decoded, numbers
// mathematically exact (1.0 == 1; exponents of 19 digits and more only as the same token). Not recursive; memory and
// time are bounded by the sizes of both (n log n).
[[nodiscard]] bool same(Value a, Value b);

struct Member {
  Value key;  // a string node
  Value value;
  [[nodiscard]] std::string name() const { return key.string(); }
};

class Document {
 public:
  // Refuses with ErrorCode::invalid and a message that ends in `at line L, column C`, or ErrorCode::limit.
  static Result<Document> parse(std::string text, const Limits& limits = {});

  Document(Document&&) noexcept = default;
  Document& operator=(Document&&) noexcept = default;
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  [[nodiscard]] Value root() const { return {this, 0}; }
  // The node with this Value::index(), below node_count(): for walks without recursion.
  [[nodiscard]] Value node(std::uint32_t index) const { return {this, index}; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] Position position(std::size_t offset) const;
  [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
  [[nodiscard]] std::size_t memory() const;  // bytes held

 private:
  friend class Value;
  friend class Members;
  friend class Elements;
  friend class Scanner;
  Document() = default;

  // Children follow their container in the array: an element as one subtree, a member as a key node and a subtree.
  struct Node {
    std::uint32_t begin;
    std::uint32_t end;
    std::uint32_t next;   // index after this subtree
    std::uint32_t count;  // members or elements
    Kind kind;
    std::uint8_t flags;
  };
  static_assert(sizeof(Node) == 20);
  enum Flag : std::uint8_t {
    kEscapes = 1,     // a string that has escapes
    kNotAscii = 2,    // a string that has bytes above 0x7F
    kTrue = 4,        // the boolean
    kUnsafe = 8,      // a number
    kDuplicate = 16,  // a key
    kLookalike = 32,  // a key
    kMarkWithin = 64  // an array or object with a mark in its subtree
  };
  static constexpr std::uint8_t kMarks = kUnsafe | kDuplicate | kLookalike;
  std::string text_;
  std::vector<Node> nodes_;
};

class Members {
 public:
  class iterator {
   public:
    using value_type = Member;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    Member operator*() const;
    iterator& operator++();
    iterator operator++(int) {
      auto old = *this;
      ++*this;
      return old;
    }
    bool operator==(const iterator& other) const { return index_ == other.index_; }

   private:
    friend class Members;
    iterator(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
    const Document* document_ = nullptr;
    std::uint32_t index_ = 0;
  };
  [[nodiscard]] iterator begin() const { return {document_, begin_}; }
  [[nodiscard]] iterator end() const { return {document_, end_}; }

 private:
  friend class Value;
  Members(const Document* document, std::uint32_t begin, std::uint32_t end)
      : document_(document), begin_(begin), end_(end) {}
  const Document* document_;
  std::uint32_t begin_;
  std::uint32_t end_;
};

class Elements {
 public:
  class iterator {
   public:
    using value_type = Value;
    using difference_type = std::ptrdiff_t;
    iterator() = default;
    Value operator*() const;
    iterator& operator++();
    iterator operator++(int) {
      auto old = *this;
      ++*this;
      return old;
    }
    bool operator==(const iterator& other) const { return index_ == other.index_; }

   private:
    friend class Elements;
    iterator(const Document* document, std::uint32_t index) : document_(document), index_(index) {}
    const Document* document_ = nullptr;
    std::uint32_t index_ = 0;
  };
  [[nodiscard]] iterator begin() const { return {document_, begin_}; }
  [[nodiscard]] iterator end() const { return {document_, end_}; }

 private:
  friend class Value;
  Elements(const Document* document, std::uint32_t begin, std::uint32_t end)
      : document_(document), begin_(begin), end_(end) {}
  const Document* document_;
  std::uint32_t begin_;
  std::uint32_t end_;
};

// === What is asked often, inline.

inline Kind Value::kind() const { return document_->nodes_[index_].kind; }
inline bool Value::is(Kind kind) const { return document_ != nullptr && document_->nodes_[index_].kind == kind; }
inline std::size_t Value::size() const { return document_ == nullptr ? 0 : document_->nodes_[index_].count; }
inline std::size_t Value::offset() const { return document_->nodes_[index_].begin; }
inline std::uint32_t Value::next_index() const { return document_->nodes_[index_].next; }
inline bool Value::boolean() const {
  return document_ != nullptr && (document_->nodes_[index_].flags & Document::kTrue) != 0;
}
inline std::string_view Value::raw() const {
  const auto& node = document_->nodes_[index_];
  return {document_->text_.data() + node.begin, node.end - node.begin};
}
inline std::string_view Value::number() const { return raw(); }
inline Members Value::members() const {
  return is_object() ? Members{document_, index_ + 1, next_index()} : Members{document_, 0, 0};
}
inline Elements Value::elements() const {
  return is_array() ? Elements{document_, index_ + 1, next_index()} : Elements{document_, 0, 0};
}
inline Member Members::iterator::operator*() const { return {{document_, index_}, {document_, index_ + 1}}; }
inline Members::iterator& Members::iterator::operator++() {
  index_ = document_->nodes_[index_ + 1].next;
  return *this;
}
inline Value Elements::iterator::operator*() const { return {document_, index_}; }
inline Elements::iterator& Elements::iterator::operator++() {
  index_ = document_->nodes_[index_].next;
  return *this;
}

}  // namespace sallyport::json
