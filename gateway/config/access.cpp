// Who may connect: clients and people, their tokens and names.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "gateway/config/decoder.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

constexpr std::string_view kDigestOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Ids and token digests are each given once, over clients and people together.
struct Taken {
  std::map<std::string, json::Value> ids;
  std::map<std::string, json::Value> tokens;
};

void take(std::map<std::string, json::Value>& taken, const std::string& key, json::Value where, std::string_view words,
          Decoder& decoder) {
  const auto [first, fresh] = taken.try_emplace(key, where);
  if (fresh) return;
  decoder.faults.error(where,
                       fmt::format("{} in line {} already: change one of them", words, first->second.position().line));
}

std::string decode_id(json::Value object, Decoder& decoder, Taken& taken) {
  const json::Value value = Decoder::member(object, "id", json::Kind::string);
  if (!value) return {};
  auto id = decoder.text(value);
  if (!id || id->empty()) return {};  // an empty one was reported by the schema
  if (const std::string why = bad_id(*id); !why.empty()) {
    decoder.faults.error(value, why);
    return {};
  }
  const bool reserved =
      *id == "gateway" || id->starts_with("local:") || id->starts_with("anonymous:") || *id == "session-user";
  if (reserved) decoder.faults.error(value, fmt::format("the id `{}` is the gateway's own: choose another", *id));
  take(taken.ids, *id, value, fmt::format("the id `{}` is given", *id), decoder);
  return *id;
}

std::string decode_token(json::Value object, Decoder& decoder, Taken& taken) {
  const json::Value value = Decoder::member(object, "tokenSha256", json::Kind::string);
  if (!value) return {};
  auto digest = decoder.text(value);
  if (!digest) return {};
  if (digest->starts_with("sha256:")) digest->erase(0, 7);
  std::transform(digest->begin(), digest->end(), digest->begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (digest->size() != 64 || !from_hex(*digest)) {
    // The text may be the token itself: never say it.
    decoder.faults.error(value,
                         "this is no SHA-256 in 64 hex digits: `sallyport token new` prints a token and its digest");
    return {};
  }
  if (*digest == kDigestOfNothing) {
    decoder.faults.error(value,
                         "this is the digest of the empty token: `sallyport token new` prints a token and its digest");
    return {};
  }
  take(taken.tokens, *digest, value, "this token is given to somebody else", decoder);
  return *digest;
}

unsigned decode_roles(json::Value object) {
  unsigned roles = 0;
  const json::Value list = Decoder::member(object, "roles", json::Kind::array);
  if (!list) return roles;
  const auto add = [&](Role role) { roles |= static_cast<unsigned>(role); };
  for (const json::Value one : list.elements()) {
    if (one.equals("approver")) add(Role::approver);
    if (one.equals("operator")) add(Role::operator_);
    if (one.equals("auditor")) add(Role::auditor);
    if (one.equals("watcher")) add(Role::watcher);
  }
  return roles;
}

void decode_people(json::Value root, Decoder& decoder, Settings& settings, Taken& taken) {
  const json::Value list = Decoder::member(root, "people", json::Kind::array);
  if (!list) return;
  for (const json::Value one : list.elements()) {
    if (!one.is_object()) continue;
    PersonSettings person;
    person.person.id = decode_id(one, decoder, taken);
    person.token_sha256 = decode_token(one, decoder, taken);
    person.person.roles = decode_roles(one);
    person.person.groups = decoder.names(one, "groups");
    settings.people.push_back(std::move(person));
  }
}

// `approval.by` names groups and persons alike, so a name is one or the other.
void check_groups(json::Value root, Decoder& decoder, const Taken& taken) {
  const json::Value list = Decoder::member(root, "people", json::Kind::array);
  if (!list) return;
  for (const json::Value person : list.elements()) {
    const json::Value groups = Decoder::member(person, "groups", json::Kind::array);
    if (!groups) continue;
    for (const json::Value group : groups.elements()) {
      if (!group.is_string() || !taken.ids.contains(group.string())) continue;
      decoder.faults.error(group, fmt::format("`{}` is an id too, so `approval.by` could mean both: rename the group",
                                              visible(group.string())));
    }
  }
}

void check_owner(json::Value client, const std::string& owner, Decoder& decoder, const Settings& settings) {
  if (owner.empty()) return;
  std::vector<std::string> people;
  for (const PersonSettings& person : settings.people) people.push_back(person.person.id);
  if (people.empty()) people.emplace_back("owner");  // the person that the first start makes
  if (std::find(people.begin(), people.end(), owner) != people.end()) return;
  if (std::ranges::any_of(decoder.former->people, [&](const PersonSettings& one) { return one.person.id == owner; })) {
    decoder.faults.warning(client.find("owner"),
                           fmt::format("`{}` is gone from `people`: take it out, the next start refuses it", owner));
    return;
  }
  const auto near = nearest(owner, people);
  decoder.faults.error(client.find("owner"),
                       near ? fmt::format("nobody in `people` is `{}`: did you mean `{}`?", owner, *near)
                            : fmt::format("nobody in `people` is `{}`: add that person", owner));
}

}  // namespace

void decode_access(json::Value root, Decoder& decoder, Settings& settings) {
  Taken taken;
  settings.anonymous = Decoder::flag(root, "anonymous", false);
  decode_people(root, decoder, settings, taken);
  if (const json::Value list = Decoder::member(root, "clients", json::Kind::array)) {
    for (const json::Value one : list.elements()) {
      if (!one.is_object()) continue;
      ClientSettings client;
      client.id = decode_id(one, decoder, taken);
      client.token_sha256 = decode_token(one, decoder, taken);
      client.groups = decoder.names(one, "groups");
      client.owner = decoder.text_member(one, "owner");
      client.hold = decoder.duration(one, "hold", client.hold);
      check_owner(one, client.owner, decoder, settings);
      settings.clients.push_back(std::move(client));
    }
  }
  check_groups(root, decoder, taken);
}

}  // namespace sallyport::gateway
