#include <boost/json.hpp>
#include <set>

#include "gateway/cli/page.hpp"
#include "gateway/cli/remote.hpp"
#include "gateway/cli/render.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/json.hpp"
#include "trust/approvals/binding.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

constexpr const char* kApprovals = "/api/v1/approvals";

std::string path_of(const std::string& id, const std::string& verb = {}) {
  return std::string(kApprovals) + "/" + id + (verb.empty() ? "" : "/" + verb);
}

// The digest of what this command has in hand to show, made here and not taken from the answer: a vote is for that.
Result<std::string> digest_of_view(const std::string& json) {
  auto document = json::Document::parse(json);
  if (!document) return fail(document.error());
  const json::Value view = document->root().find("view");
  if (!view.is_object()) return fail(ErrorCode::protocol, "the answer holds no page to show");
  const std::string made = trust::shown_digest(json::canonical(view));
  if (!document->root().find("shown").equals(made)) {
    return fail(ErrorCode::protocol, "the page that came does not fit its digest; nothing was approved");
  }
  return made;
}

std::string progress(const std::string& json) {
  const auto root = parse_object(json);
  if (!root) return {};
  const std::string state = text(*root, "state");
  if (state != "pending") return text(*root, "id") + " is " + state + "\n";
  return text(*root, "id") + " has your vote and waits for more\n";
}

int vote(Remote& remote, const std::string& id, const std::string& shown) {
  auto done =
      remote.client.post(path_of(id, "approve"), body_of({{"shown", shown}, {"reason", remote.invocation.reason}}));
  if (!done) return remote.failed(done.error());
  remote.print(*done, progress(*done));
  return kYes;
}

int end(Remote& remote, const std::string& id, const std::string& verb, const std::string& reason) {
  auto done = remote.client.post(path_of(id, verb), body_of({{"reason", reason}}));
  if (!done) return remote.failed(done.error());
  remote.print(*done, progress(*done));
  return kYes;
}

// A page that is new to whoever watches; on a terminal, with the question.
void offer(Remote& remote, const std::string& id) {
  auto page = remote.client.get(path_of(id));
  if (!page) return;  // answered or gone meanwhile
  remote.print(*page, render_approval(*page, remote.now()));
  const auto root = parse_object(*page);
  if (remote.invocation.json || !remote.terminal().interactive() || !root || !flag(*root, "mayAnswer")) return;
  remote.terminal().err("[a]pprove, [d]eny, anything else: leave it? ");
  const auto line = remote.terminal().read_line();
  if (line && *line == "a") {
    auto shown = digest_of_view(*page);
    const int code = shown ? vote(remote, id, *shown) : remote.failed(shown.error());
    static_cast<void>(code);
  } else if (line && *line == "d") {
    remote.terminal().err("why? ");
    const auto reason = remote.terminal().read_line();
    const int code = end(remote, id, "deny", reason.value_or(""));
    static_cast<void>(code);
  }
}

}  // namespace

int approvals_list(Remote& remote) {
  const std::string& wanted = remote.invocation.state_filter;
  const std::string state = wanted.empty() ? "pending" : wanted == "all" ? "" : wanted;
  auto list = remote.client.get(kApprovals +
                                query_text({{"state", state}, {"limit", std::to_string(remote.invocation.limit)}}));
  if (!list) return remote.failed(list.error());
  remote.print(*list, render_approvals(*list, remote.now()));
  return kYes;
}

int approvals_show(Remote& remote) {
  auto page = remote.client.get(path_of(remote.invocation.id));
  if (!page) return remote.failed(page.error());
  remote.print(*page, render_approval(*page, remote.now()));
  return kYes;
}

int approvals_approve(Remote& remote) {
  const Invocation& given = remote.invocation;
  Terminal& terminal = remote.terminal();
  auto page = remote.client.get(path_of(given.id));
  if (!page) return remote.failed(page.error());
  const auto root = parse_object(*page);
  if (root && text(*root, "state") != "pending") {
    terminal.err("sallyport: " + given.id + " is " + text(*root, "state") + " already\n");
    return kNo;
  }
  auto shown = digest_of_view(*page);
  if (!shown) return remote.failed(shown.error());
  terminal.err(render_approval(*page, remote.now()));
  if (!given.shown.empty() && given.shown != *shown) {
    terminal.err("sallyport: this is not what --shown names; nothing was approved\n");
    return kNo;
  }
  if (given.shown.empty() && !given.yes) {
    if (!terminal.interactive()) {
      return complain(terminal, "nobody is here to ask; nothing was approved",
                      "Give --shown " + *shown + " to approve exactly this, or --yes to approve whatever is shown.");
    }
    if (!confirm(terminal, "Approve this?")) return kNo;
  }
  return vote(remote, given.id, *shown);
}

int approvals_end(Remote& remote, const std::string& verb) {
  return end(remote, remote.invocation.id, verb, remote.invocation.reason);
}

int approvals_watch(Remote& remote) {
  std::set<std::string> seen;
  std::optional<Error> broken;
  const auto look = [&](std::string_view) {
    auto list = remote.client.get(kApprovals + query_text({{"state", "pending"}, {"limit", "1000"}}));
    if (!list) {
      broken = list.error();
      return false;
    }
    const auto root = parse_object(*list);
    std::set<std::string> waiting;
    if (root) {
      for (const bj::value& value : cli::list(*root, "approvals")) {
        if (const auto* one = value.if_object()) waiting.insert(text(*one, "id"));
      }
    }
    std::erase_if(seen, [&](const std::string& id) { return !waiting.contains(id); });
    for (const std::string& id : waiting) {
      if (seen.insert(id).second) offer(remote, id);
    }
    return true;
  };
  remote.terminal().err("watching " + remote.client.target().name() + "; end with Ctrl-C\n");
  auto ended = remote.client.events(std::string(kApprovals) + "/events", look);
  if (broken) return remote.failed(*broken);
  return ended ? kYes : remote.failed(ended.error());
}

}  // namespace sallyport::gateway::cli
