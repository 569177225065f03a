#include "trust/servers/scope.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::trust {
namespace {

std::string join(const std::vector<std::string>& segments) {
  std::string out;
  for (const auto& segment : segments) {
    if (!out.empty()) out += '/';
    out += segment;
  }
  return out;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('/', begin), text.size());
    out.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

// One value of a scope: equal values in other spellings must not be other scopes.
std::optional<std::string> scalar(json::Value value) {
  if (value.is_string()) {
    auto text = value.string();
    if (text.empty()) return std::nullopt;
    return percent_encode(text);
  }
  if (value.is_bool()) return value.boolean() ? "true" : "false";
  if (value.is_number()) {
    const auto integer = value.integer();
    if (integer) return std::to_string(*integer);
  }
  return std::nullopt;
}

}  // namespace

std::string Scope::name() const { return segments.empty() ? server : join(segments); }

std::string Scope::key() const { return percent_encode(server) + ":" + join(segments); }

std::optional<Scope> Scope::from_key(std::string_view key) {
  const auto colon = key.find(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  Scope out;
  const auto server = key.substr(0, colon);
  for (std::size_t i = 0; i < server.size(); ++i) {
    if (server[i] != '%') {
      out.server += server[i];
      continue;
    }
    const auto byte = from_hex(server.substr(std::min(i + 1, server.size()), 2));
    if (!byte || byte->size() != 1) return std::nullopt;
    out.server += *byte;
    i += 2;
  }
  const auto rest = key.substr(colon + 1);
  if (!rest.empty()) out.segments = split(rest);
  if (std::ranges::any_of(out.segments, &std::string::empty)) return std::nullopt;
  out.has_contract_scope = !out.segments.empty();
  return out;
}

Result<std::vector<TemplatePart>> parse_template(std::string_view text) {
  std::vector<TemplatePart> out;
  while (!text.empty()) {
    const auto brace = text.find_first_of("{}");
    if (brace == std::string_view::npos || brace > 0) out.push_back({false, std::string(text.substr(0, brace))});
    if (brace == std::string_view::npos) break;
    if (text[brace] == '}') return fail(ErrorCode::invalid, "a `}` without its `{`");
    const auto close = text.find('}', brace);
    if (close == std::string_view::npos) return fail(ErrorCode::invalid, "a `{` without its `}`");
    const auto pointer = text.substr(brace + 1, close - brace - 1);
    if (pointer.empty() || !pointer_steps(pointer)) {
      return fail(ErrorCode::invalid,
                  fmt::format("`{{{}}}` holds no JSON Pointer; write `{{/name}}`", visible(pointer)));
    }
    out.push_back({true, std::string(pointer)});
    text.remove_prefix(close + 1);
  }
  return out;
}

Scope scope_of(const Contract* contract, std::string_view server, json::Value arguments) {
  Scope whole{std::string(server), {}, false};
  if (contract == nullptr || contract->scope.empty()) return whole;
  const auto parts = parse_template(contract->scope);
  if (!parts) return whole;
  std::string text;
  for (const auto& part : *parts) {
    if (!part.pointer) {
      text += part.text;
      continue;
    }
    auto value = scalar(arguments.at(part.text));
    if (!value) return whole;
    text += *value;  // percent-encoded: never a `/` of its own
  }
  auto segments = split(text);
  if (std::ranges::any_of(segments, &std::string::empty)) return whole;
  return {std::string(server), std::move(segments), true};
}

bool overlap(const Scope& a, const Scope& b) {
  if (a.server != b.server) return false;
  const auto count = std::min(a.segments.size(), b.segments.size());
  return std::equal(a.segments.begin(), a.segments.begin() + static_cast<std::ptrdiff_t>(count), b.segments.begin());
}

std::string says_line(std::string_view says, json::Value arguments, std::span<const std::string> hidden) {
  const auto parts = parse_template(says);
  if (!parts) return visible(says);
  std::string out;
  for (const auto& part : *parts) {
    if (!part.pointer) {
      out += visible(part.text);
      continue;
    }
    const bool secret = std::ranges::any_of(hidden, [&](const std::string& pointer) {
      return part.text == pointer || part.text.starts_with(pointer + "/") || pointer.starts_with(part.text + "/");
    });
    const auto value = arguments.at(part.text);
    out += !value ? "(absent)" : secret ? "***" : visible(json::canonical(value));
  }
  return out;
}

std::string says_heading(std::string_view says) {
  const auto parts = parse_template(says);
  if (!parts) return visible(says);
  std::string out;
  for (const auto& part : *parts) out += part.pointer ? std::string("…") : visible(part.text);
  return out;
}

}  // namespace sallyport::trust
