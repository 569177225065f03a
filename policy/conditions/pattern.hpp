// Pattern: an ECMA-262 expression, as in schemas and by the same engine (schemas/validate/pattern.hpp), that must match
// the whole string; `.` matches line ends too. Bounded in length, nesting, steps and memory; at a bound the answer is
// undetermined. Immutable, cheap to copy, safe from several threads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "policy/conditions/truth.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::policy {

class Pattern {
 public:
  static constexpr std::size_t kMaxLength = 4096;  // bytes of the expression
  static Result<Pattern> compile(std::string_view expression);

  [[nodiscard]] Truth matches(std::string_view text, Work& work) const;
  [[nodiscard]] const std::string& expression() const;

 private:
  struct Code;
  explicit Pattern(std::shared_ptr<const Code> code) : code_(std::move(code)) {}
  std::shared_ptr<const Code> code_;
};

}  // namespace sallyport::policy
