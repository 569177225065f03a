#include <boost/json.hpp>

#include "gateway/cli/commands.hpp"
#include "gateway/cli/page.hpp"
#include "gateway/cli/remote.hpp"
#include "gateway/cli/render.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

constexpr Millis kServersStart{120'000};  // a review waits for servers that are starting

bool in_force(const bj::object& stop, const Invocation& given) {
  if (!text(stop, "lifted").empty()) return false;
  if (!given.id.empty()) return text(stop, "id") == given.id;
  return text(stop, "kind") == given.stop_kind && text(stop, "value") == given.stop_value &&
         text(stop, "tool") == given.tool;
}

int lift(Remote& remote) {
  auto stops = remote.client.get("/api/v1/stops");
  if (!stops) return remote.failed(stops.error());
  const auto root = parse_object(*stops);
  std::vector<std::string> ids;
  if (root) {
    for (const bj::value& value : list(*root, "stops")) {
      if (const auto* one = value.if_object(); one != nullptr && in_force(*one, remote.invocation))
        ids.push_back(text(*one, "id"));
    }
  }
  if (ids.empty()) {
    remote.terminal().err("sallyport: no such stop is in force\n");
    return kNo;
  }
  for (const std::string& id : ids) {
    auto lifted = remote.client.post("/api/v1/stops/" + id + "/lift", body_of({{"reason", remote.invocation.reason}}));
    if (!lifted) return remote.failed(lifted.error());
    remote.print(*lifted, render_stop(*lifted));
  }
  return kYes;
}

int accept(Remote& remote, const std::string& review) {
  const Invocation& given = remote.invocation;
  Terminal& terminal = remote.terminal();
  const auto root = parse_object(review);
  const std::string digest = root ? text(*root, "digest") : std::string();
  if (digest.empty()) return complain(terminal, "the gateway's answer cannot be read");
  terminal.err(render_trust_review(review));
  if (!is_shown(given, digest, terminal)) return kNo;
  if (text(*root, "open") == "0") {
    remote.print(R"({"accepted":[]})", "nothing to accept\n");
    return kYes;
  }
  if (given.shown.empty() && !given.yes) {
    if (!terminal.interactive()) {
      return complain(terminal, "nobody is here to ask; nothing was accepted",
                      "Give --shown " + digest + " to accept exactly this, or --yes.");
    }
    if (!confirm(terminal, "Accept these definitions?")) return kNo;
  }
  std::string body = body_of({{"digest", digest}, {"server", given.server}, {"tool", given.tool}});
  if (given.also) body.insert(body.size() - 1, R"(,"also":true)");
  auto done = remote.client.post("/api/v1/trust/accept", body, kServersStart);
  if (!done) return remote.failed(done.error());
  remote.print(*done, render_accepted(*done));
  return kYes;
}

}  // namespace

bool is_shown(const Invocation& given, const std::string& digest, Terminal& terminal) {
  if (given.shown.empty() || given.shown == digest) return true;
  terminal.err("sallyport: this is not the review that --shown names; nothing was accepted\n");
  return false;
}

int trust_command(Remote& remote) {
  const Invocation& given = remote.invocation;
  auto review =
      remote.client.get("/api/v1/trust" + query_text({{"server", given.server}, {"tool", given.tool}}), kServersStart);
  if (!review) return remote.failed(review.error());
  if (given.command == Command::trust_accept) return accept(remote, *review);
  remote.print(*review, given.report ? render_trust_report(*review)
                                     : render_trust_review(*review, given.command == Command::trust_show));
  const auto root = parse_object(*review);
  const bool settled = root && text(*root, "open") == "0";
  return given.command == Command::trust_diff && !settled ? kNo : kYes;
}

int stop_command(Remote& remote) {
  const Invocation& given = remote.invocation;
  if (given.lift) return lift(remote);
  if (given.stop_kind.empty()) {
    auto stops = remote.client.get("/api/v1/stops");
    if (!stops) return remote.failed(stops.error());
    remote.print(*stops, render_stops(*stops));
    return kYes;
  }
  auto stopped = remote.client.post(
      "/api/v1/stops",
      body_of(
          {{"kind", given.stop_kind}, {"value", given.stop_value}, {"tool", given.tool}, {"reason", given.reason}}));
  if (!stopped) return remote.failed(stopped.error());
  remote.print(*stopped, render_stop(*stopped));
  const auto root = parse_object(*stopped);
  const std::string doubt = root ? text(*root, "unknown") : std::string();
  if (doubt.empty()) return kYes;
  remote.terminal().err("sallyport: " + visible(doubt) + "; the stop is in force all the same\n");
  return given.yes ? kYes : kNo;
}

}  // namespace sallyport::gateway::cli
