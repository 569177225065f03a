#include "policy/evaluate/words.hpp"

#include "schemas/core/encoding.hpp"

namespace sallyport::policy {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const std::string& item : list) out += (out.empty() ? "" : ", ") + visible(item);
  return out;
}

std::string terms_words(const ApprovalTerms& terms) {
  std::string out = terms.by.empty() ? "any approver" : joined(terms.by);
  if (terms.quorum > 1) out += ", " + std::to_string(terms.quorum) + " of them";
  if (terms.not_owner) out += ", not the owner";
  return out + ", within " + sallyport::to_text(terms.expires);
}

std::string names_words(const NameTest& names) {
  std::vector<std::string> all = names.exact;
  for (const std::string& prefix : names.prefixes) all.push_back(prefix + "*");
  return joined(all);
}

// What the match names, in the words of the file: by that the rule speaks of the call.
std::string match_words(const Match& match) {
  std::string out;
  const auto add = [&](std::string_view what, const std::string& names) {
    out += (out.empty() ? "" : ", ") + std::string(what) + (names.empty() ? "" : " " + names);
  };
  if (!match.servers.empty()) add("server", joined(match.servers));
  if (match.tools) add("tool", names_words(*match.tools));
  if (match.uris) add("uri", names_words(*match.uris));
  if (match.principals) add("principal", names_words(*match.principals));
  if (!match.groups.empty()) add("group", joined(match.groups));
  std::vector<std::string> words;
  for (const EffectCategory effect : match.effects) words.emplace_back(to_string(effect));
  if (!words.empty()) add("effect", joined(words));
  if (match.destructive) add(*match.destructive ? "destructive" : "not destructive", {});
  if (!match.labels.empty()) add("label", joined(match.labels));
  if (match.pinned) add(*match.pinned ? "accepted definitions" : "definitions that are not accepted", {});
  words.clear();
  if (match.arguments) {
    for (const auto& entry : match.arguments->entries()) words.push_back(entry.name + (entry.optional ? "?" : ""));
    add("arguments", joined(words));
  }
  if (match.paths) add("paths", {});
  if (match.any_argument) add("any argument", {});
  return out.empty() ? "every call" : out;
}

}  // namespace sallyport::policy
