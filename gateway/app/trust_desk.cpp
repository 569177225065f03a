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

std::span<const trust::Accepted> accepted_of(const Snapshot& snapshot, const Tool& tool) {
  const trust::LockServer* lock = snapshot.lock ? snapshot.lock->server(tool.ref.server) : nullptr;
  return lock ? lock->accepted(tool.offer, tool.ref.tool) : std::span<const trust::Accepted>();
}

// Accepted as it is now: its current text stands in the lock.
bool is_settled(const Snapshot& snapshot, const Tool& tool) {
  const auto accepted = accepted_of(snapshot, tool);
  return std::ranges::find(accepted, tool.current_digest, &trust::Accepted::digest) != accepted.end();
}

// What was accepted of that name last: also where the server is another now (a new release, most often), for then the
// difference is what people want to see.
json::Value accepted_before(const Snapshot& snapshot, const Tool& tool) {
  if (tool.definition != tool.current) return tool.definition->root();
  const auto accepted = accepted_of(snapshot, tool);
  return accepted.empty() ? json::Value() : accepted.back().definition();
}

bj::object definition_json(const Snapshot& snapshot, const Tool& tool, bool settled) {
  bj::object out{{"digest", tool.current_digest},
                 {"kind", to_string(tool.offer)},
                 {"settled", settled},
                 {"state", to_string(tool.state)}};
  if (!tool.ref.tool.empty()) out["name"] = visible(tool.ref.tool);
  if (!tool.quarantine_reason.empty()) out["reason"] = visible(tool.quarantine_reason);
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

// Of a review: everything, or what has that name, whatever it is.
bool is_meant(const std::string& wanted, const std::string& name) { return wanted.empty() || wanted == name; }

Result<trust::Identity> identity_of(const Servers& servers, const std::string& id) {
  const std::string text = servers.identity(id);
  if (text.empty())
    return fail(ErrorCode::unavailable,
                "the server `" + id + "` could not be started, so nothing of it can be accepted");
  auto document = json::Document::parse(text);
  if (!document) return fail(document.error());
  return trust::parse_identity(document->root());
}

}  // namespace

TrustReview review(const Snapshot& snapshot, const Servers& servers, const std::string& server,
                   const std::string& name) {
  TrustReview result;
  bj::array list;
  std::string seen;
  for (const auto& [id, view] : snapshot.servers) {
    if (!server.empty() && id != server) continue;
    bj::object entry{{"id", id}};
    if (auto identity = identity_of(servers, id)) {
      entry["identity"] = trust::describe(*identity);
      seen += fmt::format("server {} {}\n", quote(id), trust::digest(*identity));
      if (auto loose = trust::unpinned(*identity)) entry["unpinned"] = *loose;
      const trust::LockServer* locked = snapshot.lock ? snapshot.lock->server(id) : nullptr;
      if (locked != nullptr) {
        if (auto difference = trust::mismatch(*identity, locked->identity)) {
          entry["identityChanged"] = *difference;
          ++result.open;
        }
      }
    }
    if (!view.problem.empty()) entry["problem"] = visible(view.problem);
    bj::array definitions;
    for (const trust::Offer offer : trust::kOffers) {
      for (const auto& [key, found] : view.of(offer)) {
        if (!is_meant(name, key)) continue;
        const bool settled = is_settled(snapshot, *found);
        result.open += settled ? 0 : 1;
        seen += fmt::format("{} {} {}\n", to_string(offer), quote(key), found->current_digest);
        definitions.emplace_back(definition_json(snapshot, *found, settled));
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

// Everything of the server that has that name, into its entry of the lock. Whether anything had it.
bool accept_definitions(const ServerView& view, const Acceptance& what, trust::LockServer& locked, UnixMillis now,
                        AcceptedLock& result) {
  bool found = false;
  for (const trust::Offer offer : trust::kOffers) {
    for (const auto& [name, offered] : view.of(offer)) {
      if (!is_meant(what.name, name)) continue;
      found = true;
      const std::string words = offer == trust::Offer::tool ? view.id + "/" + name
                                : name.empty()              ? fmt::format("{} of {}", to_string(offer), view.id)
                                               : fmt::format("{} {} of {}", to_string(offer), name, view.id);
      auto entry = trust::make_accepted(offered->current->root(), locked.ignored, what.by, now);
      if (!entry) {
        result.left_out.push_back(fmt::format("{}: {}", words, entry.error().message));
        continue;
      }
      trust::accept(locked.of(offer)[name], std::move(*entry), what.also);
      result.accepted.push_back(words);
    }
    // What the server no longer has.
    if (what.name.empty() && !what.also)
      std::erase_if(locked.of(offer), [&](const auto& known) { return !view.of(offer).contains(known.first); });
  }
  return found;
}

}  // namespace

Result<AcceptedLock> accept(const Snapshot& snapshot, const Servers& servers, const Acceptance& what, UnixMillis now) {
  AcceptedLock result;
  if (snapshot.lock) result.lock = *snapshot.lock;
  bool found_server = false, found = false;
  for (const auto& [id, view] : snapshot.servers) {
    if (!what.server.empty() && id != what.server) continue;
    found_server = true;
    auto identity = identity_of(servers, id);
    if (!identity) {
      if (!what.server.empty()) return fail(identity.error());
      result.left_out.push_back(identity.error().message);
      continue;
    }
    trust::LockServer& locked = result.lock.servers[id];
    if (what.also) identity = trust::with_keys(std::move(*identity), locked.identity);
    const bool foreign = trust::mismatch(*identity, locked.identity).has_value();
    if (foreign && !what.name.empty() && !locked.tools.empty()) {
      return fail(
          ErrorCode::conflict,
          fmt::format("`{}` is another server than the accepted one; accept the whole server or nothing of it", id));
    }
    if (foreign) locked = trust::LockServer{};
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
