#include "schemas/validate/pattern.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <fmt/format.h>
#include <pcre2.h>

#include <algorithm>

namespace sallyport::schema {
namespace {

constexpr std::uint32_t kHeapKiB =
    32 * 1024;  // backtracking memory of one match: base64 of 400 KB by the usual pattern takes 21 MB
constexpr std::uint32_t kMatchLimit = 5'000'000;  // backstop; the step count below bites first
constexpr std::uint32_t kParenthesesDepth = 100;  // of nesting in a pattern
constexpr std::size_t kScanPerStep = 64;          // bytes that one item of a pattern may run over for one step

struct Work {
  std::uint64_t steps;
  std::uint64_t limit;
  std::size_t reach;
  std::size_t last = 0;  // position of the item before
};

// PCRE2 calls this before each item of the pattern, so the bound is on work done: same input, same answer. What an item
// like `.*` ran over shows in the position of the next one; what one may run over in vain is charged beforehand.
int count_work(pcre2_callout_block* block, void* data) {
  auto& work = *static_cast<Work*>(data);
  const std::size_t at = block->current_position;
  const std::size_t ran = at - std::min(at, work.last);
  work.last = at;
  work.steps += 1 + (ran + std::min(work.reach, block->subject_length - at)) / kScanPerStep;
  return work.steps > work.limit ? PCRE2_ERROR_MATCHLIMIT : 0;
}

std::string pcre2_message(int code) {
  PCRE2_UCHAR buffer[256];
  const int size = pcre2_get_error_message(code, buffer, sizeof(buffer));
  if (size < 0) return fmt::format("error {}", code);
  return {reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(size)};
}

}  // namespace

Result<Regex> Regex::compile(std::string_view pattern, RegexOptions wanted) {
  auto translated = ecma_to_pcre2(pattern, wanted.dot_all);
  if (!translated) return fail(std::move(translated.error()));
  pcre2_compile_context* context = pcre2_compile_context_create(nullptr);
  if (context == nullptr) return fail(ErrorCode::limit, "no memory for the pattern");
  pcre2_set_parens_nest_limit(context, kParenthesesDepth);
  constexpr std::uint32_t kOptions = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY | PCRE2_MATCH_UNSET_BACKREF |
                                     PCRE2_NEVER_BACKSLASH_C | PCRE2_AUTO_CALLOUT;
  const std::uint32_t options =
      kOptions | (wanted.whole ? PCRE2_ANCHORED | PCRE2_ENDANCHORED : 0) | (wanted.dot_all ? PCRE2_DOTALL : 0);
  int error = 0;
  PCRE2_SIZE offset = 0;
  pcre2_code* code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated->text.data()), translated->text.size(),
                                   options, &error, &offset, context);
  pcre2_compile_context_free(context);
  if (code == nullptr) return fail(ErrorCode::unsupported, pcre2_message(error));
  return Regex(code, translated->reach);
}

std::size_t Regex::memory() const {
  std::size_t size = 0;
  pcre2_pattern_info(code_.get(), PCRE2_INFO_SIZE, &size);
  return size;
}

void Regex::Free::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }
void Matcher::FreeData::operator()(pcre2_real_match_data_8* data) const { pcre2_match_data_free(data); }
void Matcher::FreeContext::operator()(pcre2_real_match_context_8* context) const { pcre2_match_context_free(context); }

Matcher::Outcome Matcher::match(const Regex& regex, std::string_view subject, std::uint64_t& steps,
                                std::uint64_t limit) {
  if (!data_) {
    data_.reset(pcre2_match_data_create(1, nullptr));
    context_.reset(pcre2_match_context_create(nullptr));
    if (!data_ || !context_) return Outcome::limit;
    pcre2_set_match_limit(context_.get(), kMatchLimit);
    pcre2_set_heap_limit(context_.get(), kHeapKiB);
  }
  Work work{steps, limit, regex.reach_};
  pcre2_set_callout(context_.get(), &count_work, &work);
  const int rc = pcre2_match(regex.code_.get(), reinterpret_cast<PCRE2_SPTR>(subject.data()), subject.size(), 0,
                             PCRE2_NO_UTF_CHECK, data_.get(), context_.get());
  steps = std::min(work.steps, limit) + 1;
  if (rc >= 0) return Outcome::match;
  return rc == PCRE2_ERROR_NOMATCH ? Outcome::no_match : Outcome::limit;
}

}  // namespace sallyport::schema
