// `reload`, `policy accept` and `policy diff` of what waits.
#include <boost/json.hpp>

#include "gateway/cli/page.hpp"
#include "gateway/cli/remote.hpp"
#include "gateway/cli/render.hpp"

namespace sallyport::gateway::cli {
namespace {

constexpr Millis kReading{120'000};  // large files, and a reading that is under way already

// What waits, shown on stderr, then put in force by the digest of what was shown.
int accept(Remote& remote, const std::string& page, const std::string& digest) {
  const Invocation& given = remote.invocation;
  Terminal& terminal = remote.terminal();
  terminal.err(render_policy(page));
  if (!given.shown.empty() && given.shown != digest) {
    terminal.err("sallyport: this is not what --shown names; nothing was accepted\n");
    return kNo;
  }
  if (given.shown.empty() && !given.yes) {
    if (!terminal.interactive()) {
      remote.print(page, "");
      terminal.err("sallyport: it may loosen, so it waits. `sallyport policy accept --shown " + digest +
                   "` puts exactly this in force.\n");
      return kNo;
    }
    if (!confirm(terminal, "Put this in force?")) return kNo;
  }
  auto done = remote.client.post("/api/v1/policy/accept", body_of({{"digest", digest}}), kReading);
  if (!done) return remote.failed(done.error());
  remote.print(*done, render_policy(*done));
  return kYes;
}

}  // namespace

int policy_command(Remote& remote) {
  // What was saved a moment ago may not have been read yet; who accepts or compares means what lies there now.
  auto page = remote.client.post("/api/v1/reload", "{}", kReading);
  const bool shows = remote.invocation.command != Command::reload;
  if (!page && shows && (page.error().code == ErrorCode::invalid || page.error().code == ErrorCode::forbidden))
    page = remote.client.get("/api/v1/policy", kReading);
  if (!page) {  // files with faults are a no: what was in force stays
    const int code = remote.failed(page.error());
    return page.error().code == ErrorCode::invalid ? kNo : code;
  }
  const auto root = parse_object(*page);
  if (!root) return complain(remote.terminal(), "the gateway's answer cannot be read");
  const std::string state = text(*root, "state");
  const std::string digest = text(child(*root, "waiting"), "digest");
  if (state != "waiting" || remote.invocation.command == Command::policy_diff) {
    remote.print(*page, render_policy(*page));
    return state == "in_force" || state.empty() ? kYes : kNo;
  }
  return accept(remote, *page, digest);
}

}  // namespace sallyport::gateway::cli
