#include "gateway/app/changes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "policy/evaluate/compare.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace {

using Words = std::vector<std::string>;

std::set<std::string> set_of(const std::vector<std::string>& list) { return {list.begin(), list.end()}; }

// Every name that stands in one of the two.
template <class Map>
std::set<std::string> names_of(const Map& before, const Map& after) {
  std::set<std::string> out;
  for (const auto& [name, value] : before) out.insert(name);
  for (const auto& [name, value] : after) out.insert(name);
  return out;
}

// What an entry of the trust file believes, as one text.
std::string meaning(const trust::ServerTrust& server) {
  std::string out = fmt::format(
      "{}{}{}{} {} {} {} {} {}{}{}", server.trust_hints.read_only, server.trust_hints.destructive,
      server.trust_hints.retry_idempotent, server.trust_hints.retry_read_only, static_cast<int>(server.on_drift),
      static_cast<int>(server.on_finding), server.assert_formats, static_cast<int>(server.output),
      server.passes.elicitation, server.passes.sampling, server.passes.roots);
  for (const std::string& one : server.ignore) out += "\nignore " + quote(one);
  for (const std::string& one : server.spki) out += "\nspki " + quote(one);
  return out;
}

std::map<std::string, std::string> contracts_of(const trust::ServerTrust& server) {
  std::map<std::string, std::string> out;
  for (const trust::Contract& contract : server.tools) out.emplace(contract.name, contract.digest);
  return out;
}

// Any change of trust may loosen: what a contract says of a tool decides which rules speak of it.
void compare_trust(const trust::TrustFile& before, const trust::TrustFile& after, Words& looser) {
  for (const std::string& id : names_of(before.servers, after.servers)) {
    const trust::ServerTrust* was = before.server(id);
    const trust::ServerTrust* is = after.server(id);
    if (was == nullptr || is == nullptr) {
      looser.push_back(fmt::format("the trust file {} server `{}`.",
                                   was == nullptr ? "speaks for the first time of" : "no longer speaks of",
                                   visible(id)));
      continue;
    }
    if (meaning(*was) != meaning(*is)) {
      looser.push_back(fmt::format("what the trust file says of server `{}` as a whole is another.", visible(id)));
    }
    const auto old = contracts_of(*was), now = contracts_of(*is);
    for (const std::string& tool : names_of(old, now)) {
      const auto a = old.find(tool), b = now.find(tool);
      if (a != old.end() && b != now.end() && a->second == b->second) continue;
      looser.push_back(fmt::format("the contract of `{}/{}` is {}.", visible(id), visible(tool),
                                   a == old.end()   ? "new"
                                   : b == now.end() ? "gone"
                                                    : "another than before"));
    }
  }
}

std::set<std::string> digests_of(const trust::LockServer* server, trust::Offer offer, const std::string& name) {
  std::set<std::string> out;
  if (server == nullptr) return out;
  for (const trust::Accepted& accepted : server->accepted(offer, name)) out.insert(accepted.digest);
  return out;
}

void compare_accepted(const std::string& id, trust::Offer offer, const trust::LockServer* was,
                      const trust::LockServer* is, Changes& out) {
  static const trust::AcceptedByName kNone;
  for (const std::string& name : names_of(was ? was->of(offer) : kNone, is ? is->of(offer) : kNone)) {
    const auto old = digests_of(was, offer, name), now = digests_of(is, offer, name);
    if (old == now) continue;
    const bool only_fewer = std::ranges::includes(old, now);
    out.lock_loosens = out.lock_loosens || !only_fewer;
    const std::string of = offer == trust::Offer::tool
                               ? fmt::format("`{}/{}`", visible(id), visible(name))
                               : fmt::format("{}{} of `{}`", to_string(offer),
                                             name.empty() ? "" : " `" + visible(name) + "`", visible(id));
    (only_fewer ? out.stricter : out.looser)
        .push_back(fmt::format("{} definition of {} is accepted.", only_fewer ? "one less" : "another", of));
  }
}

void compare_lock(const trust::LockFile& before, const trust::LockFile& after, Changes& out) {
  for (const std::string& id : names_of(before.servers, after.servers)) {
    const trust::LockServer* was = before.server(id);
    const trust::LockServer* is = after.server(id);
    if (was != nullptr && is != nullptr && trust::digest(was->identity) != trust::digest(is->identity)) {
      out.lock_loosens = true;
      out.looser.push_back(fmt::format("another identity is accepted for server `{}`.", visible(id)));
    }
    for (const trust::Offer offer : trust::kOffers) compare_accepted(id, offer, was, is, out);
  }
}

// Groups whose members a rule holds back: who leaves one is held back by less.
std::set<std::string> groups_held_back(const policy::Policy& policy) {
  std::set<std::string> out;
  const auto add = [&](const policy::Match& match) {
    if (match.place == policy::Place::tightening) out.insert(match.groups.begin(), match.groups.end());
  };
  for (const policy::Rule& rule : policy.rules) {
    add(rule.match);
    for (const policy::Match& exception : rule.unless) add(exception);
  }
  for (const policy::BudgetRule& rule : policy.budgets) {
    if (rule.match) add(*rule.match);
  }
  return out;
}

void compare_groups(const std::string& who, const std::set<std::string>& old, const std::set<std::string>& now,
                    const std::set<std::string>& held_back, Words& looser, Words& stricter) {
  if (old == now) return;
  const bool fewer = std::ranges::includes(old, now) && std::ranges::all_of(old, [&](const std::string& group) {
                       return now.contains(group) || !held_back.contains(group);
                     });
  fewer ? stricter.push_back(who + " is in fewer groups.") : looser.push_back(who + " is in other groups.");
}

void compare_client(const ClientSettings& was, const ClientSettings& is, const std::set<std::string>& held_back,
                    Words& looser, Words& stricter) {
  const std::string who = fmt::format("client `{}`", visible(is.id));
  if (was.token_sha256 != is.token_sha256) looser.push_back(who + " has another token.");
  compare_groups(who, set_of(was.groups), set_of(is.groups), held_back, looser, stricter);
  if (was.owner != is.owner) looser.push_back(who + " has another owner.");
  if (was.hold != is.hold) stricter.push_back(who + " is held for another time while it waits.");
}

// People call tools too, as themselves.
void compare_person(const PersonSettings& was, const PersonSettings& is, const std::set<std::string>& held_back,
                    Words& looser, Words& stricter) {
  const std::string who = fmt::format("`{}`", visible(is.person.id));
  if (was.token_sha256 != is.token_sha256) looser.push_back(who + " has another token.");
  if ((is.person.roles & ~was.person.roles) != 0) looser.push_back(who + " has more roles.");
  if ((was.person.roles & ~is.person.roles) != 0) stricter.push_back(who + " has fewer roles.");
  compare_groups(who, set_of(was.person.groups), set_of(is.person.groups), held_back, looser, stricter);
}

template <class Entry, class Id, class Compare>
void compare_entries(const std::vector<Entry>& before, const std::vector<Entry>& after, std::string_view kind, Id id,
                     Compare compare, const std::set<std::string>& held_back, Words& looser, Words& stricter) {
  const auto find = [&](const std::vector<Entry>& list, const std::string& name) {
    return std::ranges::find_if(list, [&](const Entry& entry) { return id(entry) == name; });
  };
  for (const Entry& entry : after) {
    const auto was = find(before, id(entry));
    was == before.end() ? looser.push_back(fmt::format("{} `{}` is new.", kind, visible(id(entry))))
                        : compare(*was, entry, held_back, looser, stricter);
  }
  for (const Entry& entry : before) {
    if (find(after, id(entry)) == after.end())
      stricter.push_back(fmt::format("{} `{}` is gone.", kind, visible(id(entry))));
  }
}

// All that matters of who may come in, as one text.
std::string credentials_text(const Settings& settings) {
  std::string out = settings.anonymous ? "anonymous\n" : "";
  const auto list = [](const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += quote(item) + ",";
    return text;
  };
  for (const ClientSettings& one : settings.clients) {
    out += fmt::format("client {} {} {} {} {}\n", quote(one.id), one.token_sha256, list(one.groups), quote(one.owner),
                       one.hold.count());
  }
  for (const PersonSettings& one : settings.people) {
    out += fmt::format("person {} {} {} {}\n", quote(one.person.id), one.token_sha256, list(one.person.groups),
                       one.person.roles);
  }
  return out;
}

}  // namespace

Changes changes(const InForce& before, const InForce& after) {
  Changes out;
  const RuleBook& old = before.book;
  const RuleBook& now = after.book;
  out.lock = old.lock_digest != now.lock_digest;
  out.others = old.policy_digest != now.policy_digest || old.trust_digest != now.trust_digest ||
               credentials_text(before.settings) != credentials_text(after.settings);
  if (out.lock) compare_lock(*old.lock, *now.lock, out);
  Words looser;
  policy::Loosening rules = policy::compare(*old.policy, *now.policy);
  looser.insert(looser.end(), rules.looser.begin(), rules.looser.end());
  out.stricter.insert(out.stricter.end(), rules.stricter.begin(), rules.stricter.end());
  if (old.trust_digest != now.trust_digest) compare_trust(*old.trust, *now.trust, looser);
  if (!before.settings.anonymous && after.settings.anonymous)
    looser.emplace_back("clients without a credential may connect.");
  if (before.settings.anonymous && !after.settings.anonymous)
    out.stricter.emplace_back("clients without a credential may no longer connect.");
  const std::set<std::string> held_back = groups_held_back(*now.policy);
  compare_entries(
      before.settings.clients, after.settings.clients, "client", [](const ClientSettings& one) { return one.id; },
      compare_client, held_back, looser, out.stricter);
  compare_entries(
      before.settings.people, after.settings.people, "person", [](const PersonSettings& one) { return one.person.id; },
      compare_person, held_back, looser, out.stricter);
  // No client at all means the one that the gateway makes itself.
  if (!before.settings.clients.empty() && after.settings.clients.empty())
    looser.emplace_back("no client is named: the gateway's own `client:local` may connect.");
  if (!before.settings.people.empty() && after.settings.people.empty())
    looser.emplace_back("no person is named: the gateway's own `owner` has every role.");
  out.others_loosen = !looser.empty();
  out.looser.insert(out.looser.end(), looser.begin(), looser.end());
  return out;
}

std::string load_digest(const InForce& loaded) {
  return trust::tagged_digest("sallyport/load/v1",
                              fmt::format("{}\n{}\n{}\n{}", loaded.book.policy_digest, loaded.book.trust_digest,
                                          loaded.book.lock_digest, credentials_text(loaded.settings)));
}

std::string fixed_part(const std::string& config_text) {
  const auto document = json::Document::parse(config_text, {.bytes = kMaxOwnFileBytes, .comments = true});
  if (!document || !document->root().is_object()) return {};
  static const std::set<std::string> kReloaded{"clients", "people", "anonymous", "vars", "trust", "policy", "$schema"};
  std::string out;
  for (const json::Member member : document->root().members()) {
    if (!kReloaded.contains(member.name())) out += quote(member.name()) + ":" + json::canonical(member.value) + "\n";
  }
  return out;
}

}  // namespace sallyport::gateway
