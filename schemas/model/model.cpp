// Names of the model's values, one table each.
#include <algorithm>
#include <array>
#include <utility>

#include "schemas/model/decision.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"
#include "schemas/model/reason.hpp"

namespace sallyport {
namespace {

template <class E>
struct Name {
  E value;
  std::string_view text;
};

constexpr std::array<Name<EffectCategory>, 5> kCategories{{{EffectCategory::unrated, "unrated"},
                                                           {EffectCategory::read, "read"},
                                                           {EffectCategory::file, "file"},
                                                           {EffectCategory::record, "record"},
                                                           {EffectCategory::external, "external"}}};
constexpr std::array<Name<Repeat>, 3> kRepeats{
    {{Repeat::safe, "safe"}, {Repeat::keyed, "keyed"}, {Repeat::never, "never"}}};
constexpr std::array<Name<Outcome>, 3> kOutcomes{
    {{Outcome::none, "none"}, {Outcome::applied, "applied"}, {Outcome::unknown, "unknown"}}};
constexpr std::array<Name<Verdict>, 3> kVerdicts{
    {{Verdict::allow, "allow"}, {Verdict::ask, "ask"}, {Verdict::deny, "deny"}}};
constexpr std::array<Name<Method>, 4> kMethods{{{Method::tools_call, "tools/call"},
                                                {Method::resources_read, "resources/read"},
                                                {Method::prompts_get, "prompts/get"},
                                                {Method::completion_complete, "completion/complete"}}};
constexpr std::array<Name<EffectSource>, 3> kSources{
    {{EffectSource::none, "none"}, {EffectSource::hints, "hints"}, {EffectSource::contract, "contract"}}};
constexpr std::array<Name<RuleKind>, 5> kRuleKinds{{{RuleKind::deny, "deny"},
                                                    {RuleKind::require, "require"},
                                                    {RuleKind::ask, "ask"},
                                                    {RuleKind::allow, "allow"},
                                                    {RuleKind::hook, "hook"}}};
constexpr std::array<Name<Retry>, 7> kRetries{{{Retry::never, "never"},
                                               {Retry::now, "now"},
                                               {Retry::later, "later"},
                                               {Retry::same_key, "same_key"},
                                               {Retry::after_approval, "after_approval"},
                                               {Retry::after_evidence, "after_evidence"},
                                               {Retry::after_resolution, "after_resolution"}}};
constexpr std::array<Name<ReasonCode>, 25> kReasons{{
    {ReasonCode::arguments_invalid, "ARGUMENTS_INVALID"},
    {ReasonCode::policy_denied, "POLICY_DENIED"},
    {ReasonCode::approval_pending, "APPROVAL_PENDING"},
    {ReasonCode::approval_denied, "APPROVAL_DENIED"},
    {ReasonCode::approval_expired, "APPROVAL_EXPIRED"},
    {ReasonCode::approval_invalidated, "APPROVAL_INVALIDATED"},
    {ReasonCode::no_approver, "NO_APPROVER"},
    {ReasonCode::evidence_required, "EVIDENCE_REQUIRED"},
    {ReasonCode::tool_quarantined, "TOOL_QUARANTINED"},
    {ReasonCode::budget_exhausted, "BUDGET_EXHAUSTED"},
    {ReasonCode::deadline_exceeded, "DEADLINE_EXCEEDED"},
    {ReasonCode::blocked_by_unknown, "BLOCKED_BY_UNKNOWN"},
    {ReasonCode::outcome_unknown, "OUTCOME_UNKNOWN"},
    {ReasonCode::idempotency_conflict, "IDEMPOTENCY_CONFLICT"},
    {ReasonCode::idempotency_in_flight, "IDEMPOTENCY_IN_FLIGHT"},
    {ReasonCode::result_withheld, "RESULT_WITHHELD"},
    {ReasonCode::rule_failed, "RULE_FAILED"},
    {ReasonCode::hook_failed, "HOOK_FAILED"},
    {ReasonCode::clock_unsafe, "CLOCK_UNSAFE"},
    {ReasonCode::idempotency_key_invalid, "IDEMPOTENCY_KEY_INVALID"},
    {ReasonCode::cancelled, "CANCELLED"},
    {ReasonCode::limit_reached, "LIMIT_REACHED"},
    {ReasonCode::server_unavailable, "SERVER_UNAVAILABLE"},
    {ReasonCode::recording_unavailable, "RECORDING_UNAVAILABLE"},
    {ReasonCode::stopped, "STOPPED"},
}};

template <class E, std::size_t N>
std::string_view name_of(const std::array<Name<E>, N>& table, E value) {
  const auto* it = std::ranges::find(table, value, &Name<E>::value);
  return it == table.end() ? std::string_view() : it->text;
}

template <class E, std::size_t N>
std::optional<E> value_of(const std::array<Name<E>, N>& table, std::string_view text) {
  const auto* it = std::ranges::find(table, text, &Name<E>::text);
  if (it == table.end()) return std::nullopt;
  return it->value;
}

bool contains(const std::vector<std::string>& list, std::string_view item) {
  return std::ranges::find(list, item) != list.end();
}

}  // namespace

std::string_view to_string(EffectCategory value) { return name_of(kCategories, value); }
std::string_view to_string(Repeat value) { return name_of(kRepeats, value); }
std::string_view to_string(Outcome value) { return name_of(kOutcomes, value); }
std::string_view to_string(Verdict value) { return name_of(kVerdicts, value); }
std::string_view to_string(Method value) { return name_of(kMethods, value); }
std::string_view to_string(EffectSource value) { return name_of(kSources, value); }
std::string_view to_string(RuleKind value) { return name_of(kRuleKinds, value); }
std::string_view to_string(ReasonCode value) { return name_of(kReasons, value); }
std::string_view to_string(Retry value) { return name_of(kRetries, value); }
std::optional<EffectCategory> parse_effect_category(std::string_view text) { return value_of(kCategories, text); }
std::optional<Repeat> parse_repeat(std::string_view text) { return value_of(kRepeats, text); }
std::optional<Method> parse_method(std::string_view text) { return value_of(kMethods, text); }
std::optional<ReasonCode> parse_reason_code(std::string_view text) { return value_of(kReasons, text); }

bool Effect::has_label(std::string_view label) const { return contains(labels, label); }
bool Principal::in_group(std::string_view group) const { return contains(groups, group); }
bool Person::in_group(std::string_view group) const { return contains(groups, group); }

}  // namespace sallyport
