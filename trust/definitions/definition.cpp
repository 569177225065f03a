#include "trust/definitions/definition.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

std::string_view word(json::Ambiguity what) {
  switch (what) {
    case json::Ambiguity::duplicate_name:
      return "the same name stands twice";
    case json::Ambiguity::lookalike_name:
      return "two names differ only by case, width or normalisation";
    case json::Ambiguity::unsafe_number:
      return "a number has no faithful double";
  }
  return {};
}

// The members that a definition is judged by, and where.
constexpr std::string_view kKnown[] = {"name",         "title",       "description", "inputSchema",
                                       "outputSchema", "annotations", "uriTemplate", "mimeType",
                                       "arguments",    "execution",   "_meta"};
constexpr std::string_view kHints[] = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"};

// A member that a client could take for one of those, and we do not (promise 10).
std::optional<std::pair<std::string, std::string_view>> lookalike(json::Value object,
                                                                  std::span<const std::string_view> known) {
  for (const auto member : object.members()) {
    const auto name = member.name();
    if (std::ranges::find(known, std::string_view(name)) != known.end()) continue;
    const auto looks = fold(name);
    for (const std::string_view one : known) {
      if (looks == fold(one)) return std::pair(name, one);
    }
  }
  return std::nullopt;
}

std::optional<std::pair<std::string, std::string_view>> lookalike(json::Value definition) {
  if (!definition.is_object()) return std::nullopt;
  if (auto found = lookalike(definition, kKnown)) return found;
  const auto annotations = definition.find("annotations");
  return annotations.is_object() ? lookalike(annotations, kHints) : std::nullopt;
}

std::string shown(json::Value value) { return visible(json::canonical(value)); }

struct Pair {
  std::string pointer;
  json::Value before;  // either may be absent
  json::Value after;
};

void compare_members(const Pair& pair, std::vector<Pair>& out) {
  for (const auto member : pair.before.members()) {
    const auto name = member.name();
    out.push_back({pair.pointer + "/" + pointer_step(name), member.value, pair.after.find(name)});
  }
  for (const auto member : pair.after.members()) {
    const auto name = member.name();
    if (!pair.before.find(name)) out.push_back({pair.pointer + "/" + pointer_step(name), {}, member.value});
  }
}

void compare_elements(const Pair& pair, std::vector<Pair>& out) {
  const auto old_elements = pair.before.elements();
  const auto new_elements = pair.after.elements();
  auto a = old_elements.begin();
  auto b = new_elements.begin();
  for (std::size_t i = 0; a != old_elements.end() || b != new_elements.end(); ++i) {
    Pair next{fmt::format("{}/{}", pair.pointer, i), {}, {}};
    if (a != old_elements.end()) next.before = *a++;
    if (b != new_elements.end()) next.after = *b++;
    out.push_back(std::move(next));
  }
}

}  // namespace

Result<std::string> definition_digest(json::Value definition, std::span<const std::string> ignored) {
  if (!definition.is_object() && !definition.is_string())
    return fail(ErrorCode::invalid, "a definition is an object, or a text", ErrorSource::server);
  if (const auto mark = definition.ambiguity()) {
    return fail(ErrorCode::invalid,
                fmt::format("the definition cannot be judged: {} at `{}`", word(mark->what), visible(mark->pointer)),
                ErrorSource::server);
  }
  if (const auto found = lookalike(definition)) {
    return fail(ErrorCode::invalid,
                fmt::format("the definition cannot be judged: `{}` could be taken for `{}`", visible(found->first),
                            found->second),
                ErrorSource::server);
  }
  return tagged_digest(kDefinitionTag, json::canonical(definition, ignored));
}

std::vector<MemberDiff> member_diff(json::Value before, json::Value after) {
  std::vector<MemberDiff> out;
  std::vector<Pair> open;
  open.push_back({{}, before, after});
  while (!open.empty()) {
    const Pair pair = std::move(open.back());
    open.pop_back();
    if (!pair.before && !pair.after) continue;
    if (pair.before && pair.after) {
      const auto first = static_cast<std::ptrdiff_t>(open.size());
      if (pair.before.is_object() && pair.after.is_object()) {
        compare_members(pair, open);
        std::reverse(open.begin() + first, open.end());
        continue;
      }
      if (pair.before.is_array() && pair.after.is_array()) {
        compare_elements(pair, open);
        std::reverse(open.begin() + first, open.end());
        continue;
      }
      // By the canonical form, as digests see it: 1.0 and 1 differ.
      if (json::canonical(pair.before) == json::canonical(pair.after)) continue;
    }
    MemberDiff diff{pair.pointer, std::nullopt, std::nullopt};
    if (pair.before) diff.before = shown(pair.before);
    if (pair.after) diff.after = shown(pair.after);
    out.push_back(std::move(diff));
  }
  return out;
}

}  // namespace sallyport::trust
