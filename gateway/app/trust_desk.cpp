#include "gateway/app/trust_desk.hpp"

#include <fmt/format.h>
#include <boost/json.hpp>

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

// Accepted as it is now: its current text stands in the lock.
bool is_settled(const Snapshot& snapshot, const Tool& tool) {
  const trust::LockServer* lock = snapshot.lock ? snapshot.lock->server(tool.ref.server) : nullptr;
  if (lock == nullptr) return false;
  for (const trust::Accepted& accepted : lock->tool(tool.ref.tool)) {
    if (accepted.digest == tool.current_digest) return true;
  }
  return false;
}

// What was accepted of that name last: also where the server is another now (a new release, most often), for then the
// difference is what people want to see.
json::Value accepted_before(const Snapshot& snapshot, const Tool& tool) {
  if (tool.definition != tool.current) return tool.definition->root();
  const trust::LockServer* lock = snapshot.lock ? snapshot.lock->server(tool.ref.server) : nullptr;
  const auto accepted = lock ? lock->tool(tool.ref.tool) : std::span<const trust::Accepted>();
  return accepted.empty() ? json::Value() : accepted.back().definition();
}

bj::object tool_json(const Snapshot& snapshot, const Tool& tool, bool settled) {
  bj::object out{{"digest", tool.current_digest},
                 {"name", visible(tool.ref.tool)},
                 {"settled", settled},
                 {"state", to_string(tool.state)}};
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
                   const std::string& tool) {
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
    bj::array tools;
    for (const auto& [name, found] : view.tools) {
      if (!tool.empty() && name != tool) continue;
      const bool settled = is_settled(snapshot, *found);
      result.open += settled ? 0 : 1;
      seen += fmt::format("tool {} {}\n", quote(name), found->current_digest);
      tools.emplace_back(tool_json(snapshot, *found, settled));
    }
    entry["tools"] = std::move(tools);
    list.emplace_back(std::move(entry));
  }
  result.digest = trust::digest_text(seen);
  result.json = json::canonical(
      bj::value(bj::object{{"digest", result.digest}, {"open", result.open}, {"servers", std::move(list)}}));
  return result;
}

Result<AcceptedLock> accept(const Snapshot& snapshot, const Servers& servers, const Acceptance& what, UnixMillis now) {
  const auto& [server, tool, by, also] = what;
  AcceptedLock result;
  if (snapshot.lock) result.lock = *snapshot.lock;
  bool found_server = false, found_tool = false;
  for (const auto& [id, view] : snapshot.servers) {
    if (!server.empty() && id != server) continue;
    found_server = true;
    auto identity = identity_of(servers, id);
    if (!identity) {
      if (!server.empty()) return fail(identity.error());
      result.left_out.push_back(identity.error().message);
      continue;
    }
    trust::LockServer& locked = result.lock.servers[id];
    if (also) identity = trust::with_keys(std::move(*identity), locked.identity);
    const bool foreign = trust::mismatch(*identity, locked.identity).has_value();
    if (foreign && !tool.empty() && !locked.tools.empty()) {
      return fail(
          ErrorCode::conflict,
          fmt::format("`{}` is another server than the accepted one; accept the whole server or nothing of it", id));
    }
    if (foreign) locked = trust::LockServer{};
    locked.identity = std::move(*identity);
    if (std::string spoken = servers.spoken(id); !spoken.empty()) locked.era = std::move(spoken);
    const trust::ServerTrust* trusted = snapshot.trust ? snapshot.trust->server(id) : nullptr;
    if (trusted != nullptr) locked.ignored = trusted->ignore;
    for (const auto& [name, offered] : view.tools) {
      if (!tool.empty() && name != tool) continue;
      found_tool = true;
      auto entry = trust::make_accepted(offered->current->root(), locked.ignored, by, now);
      if (!entry) {
        result.left_out.push_back(fmt::format("{}/{}: {}", id, name, entry.error().message));
        continue;
      }
      trust::accept(locked.tools[name], std::move(*entry), also);
      result.accepted.push_back(id + "/" + name);
    }
    if (tool.empty() && !also)
      std::erase_if(locked.tools, [&](const auto& known) { return !view.tools.contains(known.first); });
  }
  if (!found_server) return fail(ErrorCode::not_found, "there is no server `" + server + "`");
  if (!tool.empty() && !found_tool)
    return fail(ErrorCode::not_found, fmt::format("the server `{}` offers no tool `{}`", server, tool));
  return result;
}

}  // namespace sallyport::gateway
