// The one scan behind Document::parse; for the sources of this folder.
#pragma once

#include <string>
#include <string_view>

#include "schemas/core/json.hpp"

namespace sallyport::json {

// Fills a Document's nodes. One pass over the text, no recursion: while a container is open its node's `next` holds the
// index of the container around it, so the nodes are their own stack. The text's terminating NUL stops every loop:
// outside of strings no rule accepts it and inside it is a control character.
class Scanner {
 public:
  Scanner(Document& document, const Limits& limits);
  Status run();

 private:
  using Node = Document::Node;
  enum class Next : std::uint8_t { value, key, after, done, refused };
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  // Structure (scanner.cpp). Each leaves p_ behind what it read.
  Next scan_value();
  Next scan_key();
  Next scan_after();
  Next open(Kind kind);
  Next close();
  bool literal(std::string_view word, Kind kind, std::uint8_t flags);
  void skip_space();
  bool skip_comment();
  void add(Kind kind, const char* begin, std::uint8_t flags);

  // Tokens (tokens.cpp).
  bool string();
  const char* escape(const char* at);
  bool number();

  // Names of the object that was just closed (names.cpp).
  void check_names(Node& object);
  void check_names_sorted(Node& object);
  void mark(Node& object, std::uint32_t key, std::uint8_t flag);
  std::string_view inside(std::uint32_t key) const;  // a key without its quotes

  // Keep the first refusal. `expected` completes "expected …".
  bool refuse(std::string message, const char* at);
  bool expected(std::string_view what);
  bool refuse_limit(std::string message, const char* at);

  std::uint32_t offset(const char* at) const { return static_cast<std::uint32_t>(at - begin_); }

  Document& document_;
  std::vector<Node>& nodes_;
  const Limits& limits_;
  const char* begin_;
  const char* end_;
  const char* p_;
  std::uint32_t parent_ = kNone;  // the innermost open container
  std::uint32_t depth_ = 0;
  bool bad_space_ = false;  // a comment was refused
  Error error_;
};

}  // namespace sallyport::json
