#include "trust/receipts/commitment.hpp"

#include <algorithm>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

constexpr std::string_view kNoArguments = "{}";

// All values that a pattern names; a `*` step goes to every child.
void match(json::Value value, const std::vector<std::string>& steps, std::vector<json::Value>& out) {
  std::vector<json::Value> level{value};
  for (const auto& step : steps) {
    std::vector<json::Value> next;
    for (const auto at : level) {
      if (step == "*") {
        for (const auto member : at.members()) next.push_back(member.value);
        for (const auto item : at.elements()) next.push_back(item);
        continue;
      }
      if (const auto child = at.at("/" + pointer_step(step))) next.push_back(child);
    }
    level = std::move(next);
  }
  out.insert(out.end(), level.begin(), level.end());
}

std::string relative(json::Value root, json::Value value) { return value.pointer().substr(root.pointer().size()); }

// Matched values in order of the text, without those inside another one. A subtree covers the bytes of its text.
std::vector<json::Value> outermost(json::Value value, std::span<const std::string> patterns) {
  std::vector<json::Value> found;
  for (const auto& pattern : patterns) {
    const auto steps = pointer_steps(pattern);
    if (steps && !steps->empty()) match(value, *steps, found);
  }
  std::ranges::sort(found, {}, [](json::Value item) { return std::pair(item.offset(), SIZE_MAX - item.raw().size()); });
  std::vector<json::Value> out;
  std::size_t end = 0;
  for (const auto item : found) {
    if (!out.empty() && item.offset() < end) continue;
    end = item.offset() + item.raw().size();
    out.push_back(item);
  }
  return out;
}

std::string text_of(json::Value value, std::span<const std::string> without) {
  if (value.is_string()) return value.string();
  if (value.is_object() || value.is_array()) return json::canonical(value, without);
  return std::string(value.raw());
}

std::string canonical_without(json::Value value, std::span<const std::string> without) {
  return value ? json::canonical(value, without) : std::string(kNoArguments);
}

// The pointers below `base`, relative to it; {""} says that base itself lies in one of them.
std::vector<std::string> below(const std::string& base, std::span<const std::string> pointers, bool& inside) {
  std::vector<std::string> out;
  for (const auto& pointer : pointers) {
    if (base == pointer || base.starts_with(pointer + "/")) inside = true;
    if (pointer.starts_with(base + "/")) out.push_back(pointer.substr(base.size()));
  }
  return out;
}

}  // namespace

std::vector<std::string> matching_pointers(json::Value value, std::span<const std::string> patterns) {
  std::vector<std::string> out;
  if (!value) return out;
  for (const auto item : outermost(value, patterns)) out.push_back(relative(value, item));
  return out;
}

Pairs recorded_values(json::Value value, const RecordRules& rules) {
  Pairs out;
  if (!value) return out;
  const auto redacted = matching_pointers(value, rules.redact);
  for (const auto item : outermost(value, rules.record)) {
    auto pointer = relative(value, item);
    bool inside = false;
    const auto without = below(pointer, redacted, inside);
    if (!inside) out.emplace_back(std::move(pointer), text_of(item, without));
  }
  return out;
}

ArgumentsRecord record_arguments(json::Value arguments, const RecordRules& rules, std::string_view operation_key,
                                 const Fingerprint& fingerprint) {
  ArgumentsRecord out;
  out.redacted = matching_pointers(arguments, rules.redact);
  const auto text = canonical_without(arguments, out.redacted);
  out.hmac = hex(hmac_sha256(operation_key, text));
  out.fingerprint = fingerprint(text);
  out.recorded = recorded_values(arguments, rules);
  return out;
}

std::string commit_bytes(std::string_view bytes, std::string_view operation_key) {
  return hex(hmac_sha256(operation_key, bytes));
}

bool opens(std::string_view hmac_hex, json::Value arguments, std::span<const std::string> redacted,
           std::string_view operation_key) {
  const auto text = canonical_without(arguments, redacted);
  return equal_secret(hmac_hex, hex(hmac_sha256(operation_key, text)));
}

}  // namespace sallyport::trust
