// Regular expressions of JSON Schema: ECMA-262 with Unicode semantics, run by PCRE2 under a bound that counts work.
//
// ecma_to_pcre2 reads the ECMA-262 grammar itself and writes what means the same to PCRE2; what PCRE2 alone would allow
// (possessive quantifiers, verbs, inline flags, `\A`, `\Q`) is refused. Leniencies of the web grammar that are harmless
// stay: needless escapes of punctuation, a lone `]`, `{` or `}`, a `[` inside a class.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "schemas/core/result.hpp"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace sallyport::schema {

// How a pattern is meant. JSON Schema looks for a match anywhere, and `.` stops at line ends; conditions of the policy
// want the whole string, and `.` is any character.
struct RegexOptions {
  bool whole = false;
  bool dot_all = false;  // as the flag `s` of ECMA-262
};

// A pattern in PCRE2's form.
struct Translated {
  std::string text;
  std::size_t reach = 0;  // bytes that one item may run over and fail, so that no callout tells of it
};
// Or the reason why it is no pattern we can judge.
[[nodiscard]] Result<Translated> ecma_to_pcre2(std::string_view pattern, bool dot_all = false);

// A compiled pattern; immutable, safe to share between threads.
class Regex {
 public:
  // Valid UTF-8; bound its length before.
  static Result<Regex> compile(std::string_view pattern, RegexOptions options = {});
  [[nodiscard]] std::size_t memory() const;

 private:
  friend class Matcher;
  struct Free {
    void operator()(pcre2_real_code_8* code) const;
  };
  Regex(pcre2_real_code_8* code, std::size_t reach) : code_(code), reach_(reach) {}
  std::unique_ptr<pcre2_real_code_8, Free> code_;
  std::size_t reach_;
};

// Scratch for matching, of one evaluation (one thread). Allocates at the first match.
class Matcher {
 public:
  enum class Outcome : std::uint8_t { match, no_match, limit };
  // `steps` grows with the work done, up to `limit`. The subject is valid UTF-8.
  Outcome match(const Regex& regex, std::string_view subject, std::uint64_t& steps, std::uint64_t limit);

 private:
  struct FreeData {
    void operator()(pcre2_real_match_data_8* data) const;
  };
  struct FreeContext {
    void operator()(pcre2_real_match_context_8* context) const;
  };
  std::unique_ptr<pcre2_real_match_data_8, FreeData> data_;
  std::unique_ptr<pcre2_real_match_context_8, FreeContext> context_;
};

}  // namespace sallyport::schema
