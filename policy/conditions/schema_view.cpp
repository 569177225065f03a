#include "policy/conditions/schema_view.hpp"

#include <algorithm>

namespace sallyport::policy {
namespace {

constexpr std::size_t kMaxNodes = 256;  // looked at for one place; beyond it the place counts as opaque

json::Value resolve(json::Value root, json::Value reference) {
  if (!reference.is_string()) return {};
  const std::string text = reference.string();
  if (text == "#") return root;
  if (!text.starts_with("#/") || text.find('%') != std::string::npos) return {};
  return root.at(std::string_view(text).substr(1));
}

bool has_member(json::Value node, std::string_view keyword, std::string_view name) {
  const json::Value object = node.find(keyword);
  return object && object.is_object() && object.find(name);
}

bool not_empty_object(json::Value value) { return value && value.is_object() && value.size() > 0; }

}  // namespace

SchemaView::SchemaView(json::Value root) : root_(root) {
  if (root_) seed(root_);
}

void SchemaView::seed(json::Value schema) {
  if (seeds_.size() >= kMaxNodes) {
    opaque_ = true;
    return;
  }
  if (schema.is_object() || (schema.is_bool() && schema.boolean())) seeds_.push_back(schema);
}

std::vector<json::Value> SchemaView::expand(bool branches) const {
  std::vector<json::Value> out;
  const auto push = [&](json::Value value) {
    if (!value || !value.is_object() || out.size() >= kMaxNodes) return;
    if (std::ranges::any_of(out, [&](json::Value seen) { return seen.index() == value.index(); })) return;
    out.push_back(value);
  };
  const auto push_all = [&](json::Value list) {
    if (!list) return;
    for (const json::Value value : list.elements()) push(value);
  };
  for (const json::Value value : seeds_) push(value);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const json::Value node = out[i];
    if (const json::Value reference = node.find("$ref")) push(resolve(root_, reference));
    push_all(node.find("allOf"));
    if (!branches) continue;
    push_all(node.find("anyOf"));
    push_all(node.find("oneOf"));
    push(node.find("then"));
    push(node.find("else"));
    if (const json::Value dependent = node.find("dependentSchemas")) {
      for (const json::Member member : dependent.members()) push(member.value);
    }
  }
  return out;
}

SchemaView SchemaView::member(std::string_view name) const {
  SchemaView out;
  out.root_ = root_;
  if (!root_) return out;
  out.opaque_ = opaque_;
  for (const json::Value node : nodes()) {
    const json::Value reference = node.find("$ref");
    if ((reference && !resolve(root_, reference)) || node.find("$dynamicRef")) out.opaque_ = true;
    const json::Value properties = node.find("properties");
    if (properties && properties.is_object()) {
      if (const json::Value schema = properties.find(name)) {
        out.seed(schema);
        continue;
      }
    }
    if (not_empty_object(node.find("patternProperties"))) out.opaque_ = true;
    const json::Value additional = node.find("additionalProperties");
    if (not_empty_object(additional)) out.seed(additional);
  }
  return out;
}

SchemaView SchemaView::items() const {
  SchemaView out;
  out.root_ = root_;
  if (!root_) return out;
  out.opaque_ = opaque_;
  for (const json::Value node : nodes()) {
    for (const std::string_view keyword : {"items", "prefixItems", "additionalItems"}) {
      const json::Value value = node.find(keyword);
      if (!value) continue;
      if (!value.is_array()) out.seed(value);
      for (const json::Value element : value.elements()) out.seed(element);
    }
  }
  return out;
}

SchemaView SchemaView::at(const std::vector<std::string>& steps) const {
  SchemaView here = *this;
  for (const std::string& step : steps) {
    if (step != "*") {
      const bool digits = !step.empty() && step.find_first_not_of("0123456789") == std::string::npos;
      SchemaView next = here.member(step);
      if (digits && !next.declared()) next = here.items();
      here = std::move(next);
      continue;
    }
    SchemaView next = here.items();
    for (const std::string& name : here.names()) {
      for (const json::Value schema : here.member(name).seeds_) next.seed(schema);
    }
    here = std::move(next);
  }
  return here;
}

bool SchemaView::may_name(std::string_view name) const {
  if (!root_ || opaque_) return true;
  const SchemaView found = member(name);
  if (found.declared()) return true;
  bool declares_some = false;
  bool forbids = false;
  for (const json::Value node : nodes()) {
    if (has_member(node, "properties", name)) return false;  // as `false`
    declares_some = declares_some || not_empty_object(node.find("properties"));
    const json::Value additional = node.find("additionalProperties");
    const json::Value unevaluated = node.find("unevaluatedProperties");
    forbids = forbids || (additional && additional.is_bool() && !additional.boolean()) ||
              (unevaluated && unevaluated.is_bool() && !unevaluated.boolean());
  }
  return !declares_some && !forbids;
}

bool SchemaView::may_hold(const std::vector<std::string>& steps) const {
  SchemaView here = *this;
  for (const std::string& step : steps) {
    SchemaView next = here.at({step});
    if (!next.declared()) return step == "*" ? here.names().empty() : here.may_name(step);
    here = std::move(next);
  }
  return true;
}

std::vector<std::string> SchemaView::names() const {
  std::vector<std::string> out;
  for (const json::Value node : nodes()) {
    const json::Value properties = node.find("properties");
    if (!properties) continue;
    for (const json::Member member : properties.members()) out.push_back(member.name());
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

std::vector<json::Value> SchemaView::defaults() const {
  std::vector<json::Value> out;
  for (const json::Value node : nodes()) {
    if (const json::Value value = node.find("default")) out.push_back(value);
  }
  return out;
}

}  // namespace sallyport::policy
