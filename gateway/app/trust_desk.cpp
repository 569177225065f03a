#include "gateway/app/trust_desk.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>

#include "gateway/calls/people_json.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/definitions/definition.hpp"
#include "trust/servers/identity.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

constexpr std::string_view kGone = "gone";  // accepted, and not offered any more

const trust::LockServer* locked_in(const Snapshot& snapshot, const std::string& server) {
  return snapshot.lock ? snapshot.lock->server(server) : nullptr;
}

std::span<const trust::Accepted> accepted_of(const Snapshot& snapshot, const Tool& tool) {
  const trust::LockServer* lock = locked_in(snapshot, tool.ref.server);
  return lock ? lock->accepted(tool.offer, tool.ref.tool) : std::span<const trust::Accepted>();
}

// Accepted as it is now: its current text stands in the lock.
bool is_settled(std::span<const trust::Accepted> accepted, const Tool& tool) {
  return std::ranges::find(accepted, tool.current_digest, &trust::Accepted::digest) != accepted.end();
}

// What was accepted of that name last: also where the server is another now (a new release, most often), for then the
// difference is what people want to see.
json::Value accepted_before(const Snapshot& snapshot, const Tool& tool) {
  if (tool.definition != tool.current) return tool.definition->root();
  const auto accepted = accepted_of(snapshot, tool);
  return accepted.empty() ? json::Value() : accepted.back().definition();
}

// What is accepted of that name beside its last text and its present one, and is no longer once it is accepted alone.
bj::array others_of(std::span<const trust::Accepted> accepted, const Tool& tool, bool settled) {
  bj::array out;
  for (const trust::Accepted& one : accepted) {
    if (one.digest == tool.current_digest || (!settled && &one == &accepted.back())) continue;
    out.emplace_back(one.digest);
  }
  return out;
}

bj::object named(trust::Offer offer, const std::string& name, const std::string& digest, std::string_view state,
                 bool settled) {
  bj::object out{{"digest", digest}, {"kind", to_string(offer)}, {"settled", settled}, {"state", state}};
  if (!name.empty()) out["name"] = visible(name);
  return out;
}

bj::object definition_json(const Snapshot& snapshot, const Tool& tool, bool settled, bool foreign) {
  bj::object out = named(tool.offer, tool.ref.tool, tool.current_digest, to_string(tool.state), settled);
  if (!tool.quarantine_reason.empty()) out["reason"] = visible(tool.quarantine_reason);
  if (!settled || foreign) {
    if (bj::array others = others_of(accepted_of(snapshot, tool), tool, settled); !others.empty())
      out["replaces"] = std::move(others);
  }
  if (settled) return out;
  out["definition"] = calls::visible_lines(tool.current->root());
  if (const json::Value before = accepted_before(snapshot, tool)) {
    out["changes"] = calls::differences_json(before, tool.current->root());
  }
  bj::array findings;
  for (const std::string& finding : tool.findings) findings.emplace_back(finding);
  if (!findings.empty()) out["findings"] = std::move(findings);
  return out;
}

// The whole of it, also what the trust file says to ignore: an acceptance keeps that too.
std::string whole_digest(const Tool& tool) {
  auto digest = trust::definition_digest(tool.current->root());
  return digest ? std::move(*digest) : trust::digest_text(tool.current->text());
}

// Of a review: everything, or what has that name, whatever it is.
bool is_meant(const std::string& wanted, const std::string& name) { return wanted.empty() || wanted == name; }

Result<trust::Identity> identity_of(const ServerView& view) {
  if (view.identity.empty())
    return fail(ErrorCode::unavailable,
                "the server `" + view.id + "` could not be started, so nothing of it can be accepted");
  auto document = json::Document::parse(view.identity);
  if (!document) return fail(document.error());
  return trust::parse_identity(document->root());
}

// What of a server's entry in the lock the server does not offer any more, as far as that is known: a list that could
// not be fetched says nothing. Of another server than the accepted one nothing else is kept.
bool is_gone(const ServerView& view, trust::Offer offer, const std::string& name, bool foreign) {
  return (foreign || view.whole.contains(offer)) && !view.of(offer).contains(name);
}

}  // namespace

TrustReview review(const Snapshot& snapshot, const std::string& server, const std::string& name) {
  TrustReview result;
  bj::array list;
  std::string seen;
  for (const auto& [id, view] : snapshot.servers) {
    if (!server.empty() && id != server) continue;
    bj::object entry{{"id", id}};
    const trust::LockServer* locked = locked_in(snapshot, id);
    bool foreign = false;
    if (auto identity = identity_of(view)) {
      entry["identity"] = trust::describe(*identity);
      seen += fmt::format("server {} {}\n", quote(id), trust::digest(*identity));
      if (auto loose = trust::unpinned(*identity)) entry["unpinned"] = *loose;
      const auto difference = locked ? trust::mismatch(*identity, locked->identity) : std::nullopt;
      foreign = difference.has_value();
      if (difference) entry["identityChanged"] = *difference;
      if (locked == nullptr) entry["accepted"] = false;
      result.open += foreign || locked == nullptr ? 1 : 0;
    }
    if (!view.problem.empty()) entry["problem"] = visible(view.problem);
    bj::array definitions;
    for (const trust::Offer offer : trust::kOffers) {
      for (const auto& [key, found] : view.of(offer)) {
        if (!is_meant(name, key)) continue;
        const bool settled = is_settled(accepted_of(snapshot, *found), *found);
        result.open += settled ? 0 : 1;
        seen += fmt::format("{} {} {}\n", to_string(offer), quote(key), whole_digest(*found));
        for (const trust::Accepted& one : accepted_of(snapshot, *found)) seen += "beside " + one.digest + "\n";
        definitions.emplace_back(definition_json(snapshot, *found, settled, foreign));
      }
      if (locked == nullptr) continue;
      for (const auto& [key, accepted] : locked->of(offer)) {
        if (accepted.empty() || !is_meant(name, key) || !is_gone(view, offer, key, foreign)) continue;
        ++result.open;
        seen += fmt::format("gone {} {} {}\n", to_string(offer), quote(key), accepted.back().digest);
        definitions.emplace_back(named(offer, key, accepted.back().digest, kGone, false));
      }
    }
    entry["definitions"] = std::move(definitions);
    list.emplace_back(std::move(entry));
  }
  result.digest = trust::digest_text(seen);
  result.json = json::canonical(
      bj::value(bj::object{{"digest", result.digest}, {"open", result.open}, {"servers", std::move(list)}}));
  return result;
}

namespace {

std::string words_for(trust::Offer offer, const std::string& server, const std::string& name) {
  if (offer == trust::Offer::tool) return server + "/" + name;
  if (name.empty()) return fmt::format("{} of {}", to_string(offer), server);
  return fmt::format("{} {} of {}", to_string(offer), name, server);
}

// Everything of the server that has that name and is not accepted as it is, into its entry of the lock. Whether
// anything had it.
bool accept_definitions(const ServerView& view, const Acceptance& what, trust::LockServer& locked, UnixMillis now,
                        AcceptedLock& result) {
  bool found = false;
  for (const trust::Offer offer : trust::kOffers) {
    for (const auto& [name, offered] : view.of(offer)) {
      if (!is_meant(what.name, name)) continue;
      found = true;
      if (is_settled(locked.accepted(offer, name), *offered)) continue;  // and what is accepted beside it
      const std::string words = words_for(offer, view.id, name);
      auto entry = trust::make_accepted(offered->current->root(), locked.ignored, what.by, now);
      if (!entry) {
        result.left_out.push_back(fmt::format("{}: {}", words, entry.error().message));
        continue;
      }
      trust::accept(locked.of(offer)[name], std::move(*entry), what.also);
      result.accepted.push_back(words);
    }
    std::erase_if(locked.of(offer), [&](const auto& known) {
      if (!is_meant(what.name, known.first) || !is_gone(view, offer, known.first, false)) return false;
      found = true;
      if (!what.also) result.accepted.push_back("removal of " + words_for(offer, view.id, known.first));
      return !what.also;
    });
  }
  return found;
}

bool same(const trust::LockServer& a, const trust::LockServer& b) {
  trust::LockFile left, right;
  left.servers.emplace("server", a);
  right.servers.emplace("server", b);
  return trust::print(left) == trust::print(right);
}

// The file as it is now, with what was reviewed of the servers that are accepted. conflict: the file says something
// else of one of them.
Result<trust::LockFile> newest(const Snapshot& snapshot, const Acceptance& what, const trust::LockFile& on_disk) {
  trust::LockFile out = on_disk;
  for (const auto& [id, view] : snapshot.servers) {
    if (!what.server.empty() && id != what.server) continue;
    const trust::LockServer* reviewed = locked_in(snapshot, id);
    const trust::ServerTrust* trusted = snapshot.trust ? snapshot.trust->server(id) : nullptr;
    const std::vector<std::string> ignored = trusted ? trusted->ignore : std::vector<std::string>();
    bool agrees = reviewed == nullptr && !on_disk.servers.contains(id);
    for (const auto& [old, entry] : on_disk.servers) {
      // A server that the config calls otherwise now stands there under its old name.
      if (reviewed == nullptr || (old != id && (on_disk.servers.contains(id) || snapshot.servers.contains(old))))
        continue;
      const auto present = trust::with_ignored(entry, ignored);
      agrees = agrees || (present && same(*present, *reviewed));
    }
    if (!agrees) {
      return fail(ErrorCode::conflict,
                  fmt::format("the lock file says something else of `{}` than what was reviewed; look again", id));
    }
    if (reviewed != nullptr) out.servers.insert_or_assign(id, *reviewed);
  }
  return out;
}

}  // namespace

Result<AcceptedLock> accept(const Snapshot& snapshot, const Servers& servers, const Acceptance& what, UnixMillis now,
                            const trust::LockFile& on_disk) {
  AcceptedLock result;
  auto lock = newest(snapshot, what, on_disk);
  if (!lock) return fail(lock.error());
  result.lock = std::move(*lock);
  bool found_server = false, found = false;
  for (const auto& [id, view] : snapshot.servers) {
    if (!what.server.empty() && id != what.server) continue;
    found_server = true;
    auto identity = identity_of(view);
    if (!identity) {
      if (!what.server.empty()) return fail(identity.error());
      result.left_out.push_back(identity.error().message);
      continue;
    }
    const bool known = result.lock.servers.contains(id);
    trust::LockServer& locked = result.lock.servers[id];
    if (what.also) identity = trust::with_keys(std::move(*identity), locked.identity);
    const bool foreign = trust::mismatch(*identity, locked.identity).has_value();
    if (known && foreign && !what.name.empty()) {
      return fail(
          ErrorCode::conflict,
          fmt::format("`{}` is another server than the accepted one; accept the whole server or nothing of it", id));
    }
    if (foreign) locked = trust::LockServer{};
    if (foreign || !(locked.identity == *identity)) result.accepted.push_back("identity of " + id);
    locked.identity = std::move(*identity);
    if (std::string spoken = servers.spoken(id); !spoken.empty()) locked.era = std::move(spoken);
    const trust::ServerTrust* trusted = snapshot.trust ? snapshot.trust->server(id) : nullptr;
    if (trusted != nullptr) locked.ignored = trusted->ignore;
    found = accept_definitions(view, what, locked, now, result) || found;
  }
  if (!found_server) return fail(ErrorCode::not_found, "there is no server `" + what.server + "`");
  if (!what.name.empty() && !found) {
    return fail(ErrorCode::not_found, fmt::format("the server `{}` offers no tool, prompt or resource template `{}`",
                                                  what.server, what.name));
  }
  return result;
}

}  // namespace sallyport::gateway
