#include "policy/conditions/pattern.hpp"

#include "schemas/core/encoding.hpp"
#include "schemas/validate/pattern.hpp"

namespace sallyport::policy {
namespace {

// Steps of one match, which the judging pays for: enough to look at every character a few times, never for more.
constexpr std::uint64_t match_limit(std::size_t length) { return 100'000 + 8 * static_cast<std::uint64_t>(length); }

}  // namespace

struct Pattern::Code {
  std::string expression;
  schema::Regex regex;
};

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (expression.size() > kMaxLength) {
    return fail(ErrorCode::limit, "the pattern is longer than " + std::to_string(kMaxLength) + " bytes");
  }
  if (!valid_utf8(expression)) return fail(ErrorCode::invalid, "the pattern is no UTF-8");
  auto regex = schema::Regex::compile(expression, {.whole = true, .dot_all = true});
  if (!regex) return fail(std::move(regex.error()));
  return Pattern(std::make_shared<const Code>(Code{std::string(expression), std::move(*regex)}));
}

Truth Pattern::matches(std::string_view text, Work& work) const {
  if (!work.take(1 + text.size() / 64) || !valid_utf8(text)) return Truth::undetermined;
  schema::Matcher matcher;
  std::uint64_t steps = 0;
  const auto outcome = matcher.match(code_->regex, text.data() == nullptr ? "" : text, steps, match_limit(text.size()));
  if (!work.spend(steps) || outcome == schema::Matcher::Outcome::limit) return Truth::undetermined;
  return outcome == schema::Matcher::Outcome::match ? Truth::yes : Truth::no;
}

const std::string& Pattern::expression() const { return code_->expression; }

}  // namespace sallyport::policy
