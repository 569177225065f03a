#include "gateway/config/hidden_check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <vector>

#include "schemas/core/encoding.hpp"
#include "trust/receipts/redaction.hpp"
#include "trust/servers/scope.hpp"

namespace sallyport::gateway {
namespace {

// Whether one of two pointers lies in the other; a `*` step is every member or element.
bool meet(std::string_view a, std::string_view b) {
  const auto left = pointer_steps(a), right = pointer_steps(b);
  if (!left || !right) return false;
  const auto count = static_cast<std::ptrdiff_t>(std::min(left->size(), right->size()));
  return std::equal(left->begin(), left->begin() + count, right->begin(),
                    [](const std::string& x, const std::string& y) { return x == y || x == "*" || y == "*"; });
}

std::vector<std::string> pointers_of(std::string_view text) {
  std::vector<std::string> out;
  const auto parts = trust::parse_template(text);
  if (!parts) return out;
  for (const auto& part : *parts) {
    if (part.pointer) out.push_back(part.text);
  }
  return out;
}

// A part of a contract that names arguments, and what becomes of them if they are hidden.
struct Part {
  std::string_view member;
  std::vector<std::string> pointers;
  bool in_clear;
  std::string_view consequence;
};

std::vector<Part> parts_of(const trust::Contract& contract) {
  std::vector<Part> parts{
      {"scope", pointers_of(contract.scope), true, "a scope stands in clear in receipts: make it of something else"},
      {"says", pointers_of(contract.says), false, "the line shows `***` in its place"},
      {"record", contract.record_arguments, false, "it is not recorded"}};
  const auto& key = contract.idempotency_key;
  if (key && key->kind == trust::KeyPlace::Kind::argument)
    parts.push_back({"idempotencyKey", {key->name}, true, "a key stands in clear in receipts: name another argument"});
  return parts;
}

// What the accepted schemas of the contract's tools mark `writeOnly`.
std::vector<std::string> write_only(const trust::Contract& contract, const trust::ServerTrust& server,
                                    const trust::LockServer* locked) {
  std::set<std::string> out;
  if (locked == nullptr) return {};
  for (const auto& [name, accepted] : locked->tools) {
    if (trust::contract_for(server, name) != &contract) continue;
    for (const trust::Accepted& one : accepted) {
      for (std::string& pattern : trust::write_only_patterns(one.definition().find("inputSchema")))
        out.insert(std::move(pattern));
    }
  }
  return {out.begin(), out.end()};
}

void judge(const Part& part, json::Value where, std::span<const std::string> hidden, std::string_view by, bool refuse,
           FaultList& faults) {
  for (const std::string& pointer : part.pointers) {
    if (std::ranges::none_of(hidden, [&](const std::string& pattern) { return meet(pointer, pattern); })) continue;
    std::string message =
        fmt::format("`{}` names `{}`, which {} hides: {}", part.member, visible(pointer), by, part.consequence);
    refuse ? faults.error(where, std::move(message)) : faults.warning(where, std::move(message));
  }
}

}  // namespace

void check_hidden(json::Value servers, const trust::TrustFile& trust, const trust::LockFile& lock,
                  std::span<const std::string> redact, bool strict, FaultList& faults) {
  for (const json::Member member : servers.members()) {
    const trust::ServerTrust* server = trust.server(member.name());
    if (server == nullptr) continue;
    for (const json::Member entry : member.value.find("tools").members()) {
      const auto contract = std::ranges::find(server->tools, entry.name(), &trust::Contract::name);
      if (contract == server->tools.end()) continue;
      const auto marked =
          strict ? write_only(*contract, *server, lock.server(member.name())) : std::vector<std::string>();
      for (const Part& part : parts_of(*contract)) {
        if (!strict && !part.in_clear) continue;
        const json::Value where = entry.value.find(part.member);
        judge(part, where ? where : entry.key, redact, "`redact`", part.in_clear, faults);
        judge(part, where ? where : entry.key, marked, "the tool's schema (`writeOnly`)", false, faults);
      }
    }
  }
}

}  // namespace sallyport::gateway
