#include "policy/conditions/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>

namespace sallyport::policy {
namespace {

constexpr std::uint32_t kMatchLimit = 100'000;  // backtracking steps of one match
constexpr std::uint32_t kDepthLimit = 10'000;
constexpr std::uint32_t kHeapLimitKib = 16 * 1024;
constexpr std::uint32_t kNestLimit = 100;
constexpr std::uint64_t kBoundCost = 100'000;  // what a match that ran into its bound costs the judging

template <auto Free>
struct Deleter {
  template <class T>
  void operator()(T* pointer) const {
    Free(pointer);
  }
};
using CodePtr = std::unique_ptr<pcre2_code, Deleter<pcre2_code_free>>;
using MatchContextPtr = std::unique_ptr<pcre2_match_context, Deleter<pcre2_match_context_free>>;
using CompileContextPtr = std::unique_ptr<pcre2_compile_context, Deleter<pcre2_compile_context_free>>;
using MatchDataPtr = std::unique_ptr<pcre2_match_data, Deleter<pcre2_match_data_free>>;

PCRE2_SPTR units(std::string_view text) {
  static constexpr char kEmpty = 0;
  return reinterpret_cast<PCRE2_SPTR>(text.data() == nullptr ? &kEmpty : text.data());
}

}  // namespace

struct Pattern::Code {
  std::string expression;
  CodePtr code;
  MatchContextPtr limits;  // only read while matching
};

Result<Pattern> Pattern::compile(std::string_view expression) {
  if (expression.size() > kMaxLength) {
    return fail(ErrorCode::limit, "the pattern is longer than " + std::to_string(kMaxLength) + " bytes");
  }
  const CompileContextPtr context(pcre2_compile_context_create(nullptr));
  pcre2_set_parens_nest_limit(context.get(), kNestLimit);
  constexpr std::uint32_t kOptions =
      PCRE2_UTF | PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_NEVER_BACKSLASH_C;
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto code = std::make_shared<Code>();
  code->expression = expression;
  code->code.reset(pcre2_compile(units(expression), expression.size(), kOptions, &error, &offset, context.get()));
  if (!code->code) {
    std::array<PCRE2_UCHAR, 160> text{};
    pcre2_get_error_message(error, text.data(), text.size());
    return fail(ErrorCode::invalid,
                std::string(reinterpret_cast<const char*>(text.data())) + " at offset " + std::to_string(offset));
  }
  code->limits.reset(pcre2_match_context_create(nullptr));
  pcre2_set_match_limit(code->limits.get(), kMatchLimit);
  pcre2_set_depth_limit(code->limits.get(), kDepthLimit);
  pcre2_set_heap_limit(code->limits.get(), kHeapLimitKib);
  return Pattern(std::move(code));
}

Truth Pattern::matches(std::string_view text, Work& work) const {
  if (!work.take(1 + text.size() / 64)) return Truth::undetermined;
  const MatchDataPtr data(pcre2_match_data_create(1, nullptr));
  if (!data) return Truth::undetermined;
  const int count = pcre2_match(code_->code.get(), units(text), text.size(), 0, 0, data.get(), code_->limits.get());
  if (count == PCRE2_ERROR_NOMATCH) return Truth::no;
  if (count < 0) {
    static_cast<void>(work.take(kBoundCost));
    return Truth::undetermined;
  }
  // `\K` can move the start: only the whole string counts.
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data.get());
  return range[0] == 0 && range[1] == text.size() ? Truth::yes : Truth::undetermined;
}

const std::string& Pattern::expression() const { return code_->expression; }

}  // namespace sallyport::policy
