#include "trust/servers/effective.hpp"

#include "schemas/core/writer.hpp"

namespace sallyport::trust {
namespace {

std::optional<bool> flag(json::Value annotations, std::string_view name) {
  const auto value = annotations.find(name);
  if (!value.is_bool()) return std::nullopt;
  return value.boolean();
}

// What is left unsaid by everyone: read only looks; everything else could do anything.
void fill_defaults(Effect& effect, const std::optional<bool>& destructive, const std::optional<Repeat>& repeat) {
  const bool read = effect.category == EffectCategory::read;
  effect.destructive = destructive.value_or(!read);
  effect.repeat = repeat.value_or(read ? Repeat::safe : Repeat::never);
}

}  // namespace

Hints hints_of(json::Value tool) {
  const auto annotations = tool.find("annotations");
  if (!annotations.is_object()) return {};
  return {flag(annotations, "readOnlyHint"), flag(annotations, "destructiveHint"), flag(annotations, "idempotentHint"),
          flag(annotations, "openWorldHint")};
}

EffectView effective(const Contract* contract, const Hints& declared, const TrustHints& honoured, bool pinned,
                     bool identity_ok) {
  EffectView view;
  view.declared = declared;
  static const EffectTerms kSaidNothing;
  const EffectTerms& said = contract != nullptr ? contract->terms : kSaidNothing;
  view.assigned = said.category;
  if (said.labels) view.effective.labels = *said.labels;
  if (!identity_ok) return view;  // nothing that anyone says of it is known to be said of this server

  const bool contradicts = declared.read_only == true && declared.destructive == true;
  const bool believe = pinned && !contradicts;

  std::optional<EffectCategory> category = said.category;
  if (category) {
    view.source = EffectSource::contract;
  } else if (believe && honoured.read_only && declared.read_only == true) {
    category = EffectCategory::read;
    view.source = EffectSource::hints;
  }
  view.effective.category = category.value_or(EffectCategory::unrated);

  std::optional<bool> destructive = said.destructive;
  if (!destructive && declared.destructive == true) destructive = true;
  if (!destructive && believe && honoured.destructive && declared.destructive == false) destructive = false;

  std::optional<Repeat> repeat = said.repeat;
  if (!repeat && declared.idempotent == false && declared.read_only != true) repeat = Repeat::never;
  if (!repeat && believe &&
      ((honoured.retry_idempotent && declared.idempotent == true) ||
       (honoured.retry_read_only && declared.read_only == true))) {
    repeat = Repeat::safe;
  }
  fill_defaults(view.effective, destructive, repeat);
  return view;
}

void tighten(EffectView& view, const EffectView& other) {
  view.effective.destructive = view.effective.destructive || other.effective.destructive;
  if (other.effective.repeat == Repeat::never) view.effective.repeat = Repeat::never;
}

EffectView apply_case(const EffectView& view, const EffectTerms& terms) {
  EffectView out = view;
  if (terms.category) {
    out.assigned = terms.category;
    out.source = EffectSource::contract;
    out.effective.category = *terms.category;
    fill_defaults(out.effective, std::nullopt, std::nullopt);
  }
  if (terms.destructive) out.effective.destructive = *terms.destructive;
  if (terms.repeat) out.effective.repeat = *terms.repeat;
  if (terms.labels) out.effective.labels = *terms.labels;
  return out;
}

std::optional<std::string> annotations_for_clients(const EffectView& view, json::Value declared) {
  const json::Value title = declared && declared.is_object() ? declared.find("title") : json::Value();
  const bool titled = title && title.is_string();
  const bool rated = view.effective.category != EffectCategory::unrated;
  if (!rated && !titled) return std::nullopt;
  json::Writer out;
  out.begin_object();
  if (rated) {
    out.member("destructiveHint", view.effective.destructive);
    out.member("idempotentHint", view.effective.repeat == Repeat::safe);
    if (view.effective.category == EffectCategory::external) out.member("openWorldHint", true);
    out.member("readOnlyHint", view.effective.is_read());
  }
  if (titled) out.key("title").raw(title.raw());
  return out.end_object().take();
}

std::string effect_for_clients(const EffectView& view) {
  json::Writer out;
  out.begin_object();
  out.member("category", to_string(view.effective.category));
  out.member("destructive", view.effective.destructive);
  out.member("repeat", to_string(view.effective.repeat));
  out.member("source", to_string(view.source));
  return out.end_object().take();
}

}  // namespace sallyport::trust
