#include "trust/receipts/redaction.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "schemas/core/encoding.hpp"

namespace sallyport::trust {
namespace {

constexpr std::size_t kMaxPatterns = 256;
constexpr std::size_t kMaxVisits = 20'000;
constexpr std::size_t kMaxSteps = 64;

// === writeOnly

struct Visit {
  json::Value schema;
  std::string pattern;
  std::size_t steps;
};

class WriteOnly {
 public:
  explicit WriteOnly(json::Value root) : root_(root) {}

  std::vector<std::string> find() {
    push(root_, "", 0);
    for (std::size_t visits = 0; !open_.empty() && visits < kMaxVisits && out_.size() < kMaxPatterns; ++visits) {
      const Visit visit = std::move(open_.back());
      open_.pop_back();
      look(visit);
    }
    std::ranges::sort(out_);
    return std::move(out_);
  }

 private:
  void push(json::Value schema, std::string pattern, std::size_t steps) {
    if (!schema.is_object() || steps > kMaxSteps) return;
    if (!seen_.emplace(schema.index(), pattern).second) return;
    open_.push_back({schema, std::move(pattern), steps});
  }

  void look(const Visit& visit) {
    const auto write_only = visit.schema.find("writeOnly");
    if (write_only.is_bool() && write_only.boolean() && !visit.pattern.empty()) {
      if (std::ranges::find(out_, visit.pattern) == out_.end()) out_.push_back(visit.pattern);
      return;
    }
    for (const auto* name : {"properties", "dependentSchemas"}) {
      for (const auto member : visit.schema.find(name).members()) {
        const bool here = std::string_view(name) == "dependentSchemas";
        push(member.value, here ? visit.pattern : visit.pattern + "/" + pointer_step(member.name()), visit.steps + 1);
      }
    }
    for (const auto member : visit.schema.find("patternProperties").members()) {
      push(member.value, visit.pattern + "/*", visit.steps + 1);
    }
    for (const auto* name : {"additionalProperties", "unevaluatedProperties", "items", "additionalItems",
                             "unevaluatedItems", "contains"}) {
      push(visit.schema.find(name), visit.pattern + "/*", visit.steps + 1);
    }
    for (const auto* name : {"prefixItems", "items"}) {
      for (const auto item : visit.schema.find(name).elements()) push(item, visit.pattern + "/*", visit.steps + 1);
    }
    for (const auto* name : {"allOf", "anyOf", "oneOf"}) {
      for (const auto item : visit.schema.find(name).elements()) push(item, visit.pattern, visit.steps + 1);
    }
    for (const auto* name : {"if", "then", "else", "not"})
      push(visit.schema.find(name), visit.pattern, visit.steps + 1);
    const auto ref = visit.schema.find("$ref");
    if (ref.is_string() && ref.string().starts_with("#"))
      push(root_.at(ref.string().substr(1)), visit.pattern, visit.steps + 1);
  }

  json::Value root_;
  std::vector<Visit> open_;
  std::set<std::pair<std::uint32_t, std::string>> seen_;
  std::vector<std::string> out_;
};

// === shapes

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }
bool token_char(char c) { return letter_or_digit(c) || c == '_' || c == '-'; }

struct Shape {
  std::string_view prefix;
  std::size_t rest;  // token characters that must follow
};
constexpr std::array kShapes = std::to_array<Shape>({
    {"sp_", 40},  // our own
    {"ghp_", 30},
    {"gho_", 30},
    {"ghu_", 30},
    {"ghs_", 30},
    {"ghr_", 30},
    {"github_pat_", 22},
    {"glpat-", 16},
    {"xoxb-", 10},
    {"xoxp-", 10},
    {"xoxa-", 10},
    {"xoxs-", 10},
    {"xapp-", 10},
    {"sk-", 20},
    {"sk_live_", 16},
    {"sk_test_", 16},
    {"rk_live_", 16},
    {"whsec_", 16},
    {"AKIA", 16},
    {"ASIA", 16},
    {"AIza", 30},
    {"ya29.", 16},
    {"npm_", 30},
    {"pypi-", 30},
    {"dop_v1_", 30},
    {"hf_", 30},
    {"SG.", 16},
    {"shpat_", 24},
    {"dckr_pat_", 20},
    {"AGE-SECRET-KEY-1", 20},
});

// Whether a shape begins with that character ("e" is of web tokens): most words are passed over by it.
constexpr std::array<bool, 256> kBegins = [] {
  std::array<bool, 256> out{};
  for (const Shape& shape : kShapes) out[static_cast<unsigned char>(shape.prefix.front())] = true;
  out['e'] = true;
  return out;
}();

bool shaped_at(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at);
  return std::ranges::any_of(kShapes, [&](const Shape& shape) {
    if (!rest.starts_with(shape.prefix) || rest.size() < shape.prefix.size() + shape.rest) return false;
    return std::ranges::all_of(rest.substr(shape.prefix.size(), shape.rest), token_char);
  });
}

// header.payload.signature in base64url, of which the first two are JSON objects ("eyJ" is `{"`).
bool web_token_at(std::string_view text, std::size_t at) {
  const auto rest = text.substr(at);
  if (!rest.starts_with("eyJ")) return false;
  const auto end_of = [&](std::size_t from) {
    while (from < rest.size() && token_char(rest[from])) ++from;
    return from;
  };
  const auto first = end_of(0);
  if (first < 10 || !rest.substr(first).starts_with(".eyJ")) return false;
  const auto second = end_of(first + 1);
  return second - first > 8 && second < rest.size() && rest[second] == '.';
}

bool same_letters(std::string_view text, std::string_view lower) {
  return text.size() >= lower.size() && std::equal(lower.begin(), lower.end(), text.begin(), [](char a, char b) {
           return a == (b >= 'A' && b <= 'Z' ? static_cast<char>(b + 32) : b);
         });
}

bool authorization(std::string_view text) {
  for (const std::string_view scheme : {"bearer ", "basic ", "token "}) {
    if (!same_letters(text, scheme)) continue;
    const auto rest = text.substr(scheme.size());
    return rest.size() >= 12 && std::ranges::none_of(rest, [](char c) { return static_cast<unsigned char>(c) <= ' '; });
  }
  return false;
}

// scheme://user:password@host
bool password_in_url(std::string_view text) {
  for (auto at = text.find("://"); at != std::string_view::npos; at = text.find("://", at + 3)) {
    const auto rest = text.substr(at + 3);
    const auto authority = rest.substr(0, rest.find_first_of("/?# \t\n\""));
    const auto sign = authority.rfind('@');
    if (sign == std::string_view::npos) continue;
    const auto colon = authority.find(':');
    if (colon < sign && colon + 1 < sign) return true;
  }
  return false;
}

// === sweep

template <class Use>
void each_pair(Pairs& pairs, Use& use) {
  for (auto& [name, value] : pairs) {
    use(name);
    use(value);
  }
}

// Every text of a receipt that a client, a server or a person had a hand in. Names that stand in the config in clear
// (servers, principals, rules) and what is of our own making are no secrets, and lists must still find by them.
template <class Use>
void each_text(ReceiptBody& body, Use use) {
  for (auto* text : {&body.client_name, &body.client_version, &body.uri, &body.scope_name, &body.server_revision,
                     &body.idempotency_key}) {
    use(*text);
  }
  if (body.definition.empty()) use(body.tool);  // not one that a server offers: the client's own word
  if (body.arguments) {
    each_pair(body.arguments->recorded, use);
    for (auto& pointer : body.arguments->redacted) use(pointer);
  }
  if (body.result) each_pair(body.result->recorded, use);
  if (body.decision) {
    for (auto& reason : body.decision->reasons) {
      if (reason.pointer) use(*reason.pointer);
    }
  }
  if (body.approval) {
    for (auto& vote : body.approval->votes) use(vote.reason);
  }
  if (body.event) {
    use(body.event->reason);
    use(body.event->target);
    each_pair(body.event->details, use);
  }
}

}  // namespace

std::vector<std::string> write_only_patterns(json::Value schema) { return WriteOnly(schema).find(); }

bool looks_secret(std::string_view text) {
  if (authorization(text) || password_in_url(text)) return true;
  if (text.find("-----BEGIN ") != std::string_view::npos && text.find("PRIVATE KEY") != std::string_view::npos)
    return true;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!kBegins[static_cast<unsigned char>(text[at])]) continue;
    if (at > 0 && token_char(text[at - 1])) continue;  // only at the beginning of a word
    if (shaped_at(text, at) || web_token_at(text, at)) return true;
  }
  return false;
}

std::vector<std::string> secret_pointers(json::Value value) {
  std::vector<std::string> out;
  if (!value) return out;
  const auto base = value.pointer().size();
  std::vector<json::Value> open{value};
  while (!open.empty()) {
    const auto at = open.back();
    open.pop_back();
    if (at.is_string() && looks_secret(at.string())) {
      auto pointer = at.pointer().substr(base);
      if (!pointer.empty()) out.push_back(std::move(pointer));
      if (out.size() >= kMaxPatterns) return {"/*"};  // too many to name: show nothing at all
    }
    for (const auto member : at.members()) open.push_back(member.value);
    for (const auto item : at.elements()) open.push_back(item);
  }
  std::ranges::sort(out);
  return out;
}

std::size_t sweep(ReceiptBody& body, std::span<const Secret> secrets) {
  std::size_t found = 0;
  each_text(body, [&](std::string& text) {
    found += mask(text, secrets);
    if (!looks_secret(text)) return;
    text = "***";
    ++found;
  });
  return found;
}

}  // namespace sallyport::trust
