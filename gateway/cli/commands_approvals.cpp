#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

#include "gateway/cli/page.hpp"
#include "gateway/cli/remote.hpp"
#include "gateway/cli/render.hpp"
#include "gateway/cli/times.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
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

// The arguments as conditions: exactly what is shown. Members that no condition can name exactly may be anything; the
// words of the grant say so.
Result<std::string> exact_conditions(json::Value arguments) {
  std::string out = "{";
  for (const json::Member member : arguments.members()) {
    if (out.size() > 1) out += ',';
    out += quote(member.name()) + ":";
    if (member.value.is_object()) {
      auto inside = exact_conditions(member.value);
      if (!inside) return inside;
      out += "{\"members\":" + *inside + "}";
    } else if (member.value.is_array()) {
      return fail(ErrorCode::invalid, "`" + visible(member.name()) + "` is a list: say with --where what it may be");
    } else {
      out += member.value.raw();
    }
  }
  return out + "}";
}

Result<std::string> grant_of(const Invocation& given, const std::string& page, UnixMillis now) {
  if (given.grant_within.empty() && given.grant_until.empty()) return std::string();
  std::string conditions = given.arguments;
  if (conditions.empty()) {
    std::string lines;
    const auto root = parse_object(page);
    for (const bj::value& line : root ? list(child(*root, "view"), "arguments") : bj::array())
      lines += shown(line) + "\n";
    auto document = json::Document::parse(lines);
    if (!document)
      return fail(ErrorCode::invalid, "these arguments hold hidden characters: say with --where what may be");
    auto exact = exact_conditions(document->root());
    if (!exact) return exact;
    conditions = std::move(*exact);
  } else if (auto document = json::Document::parse(conditions); !document || !document->root().is_object()) {
    return fail(ErrorCode::invalid, "--where takes a JSON object of conditions");
  }
  std::string out = "{\"arguments\":" + conditions;
  if (given.grant_uses > 0) out += ",\"uses\":" + std::to_string(given.grant_uses);
  if (given.grant_until.empty()) return out + ",\"run\":true}";
  const auto until = parse_coming(given.grant_until, now);
  if (!until) return fail_in("--until", until.error());
  return out + ",\"until\":" + quote(to_utc(*until)) + "}";
}

int vote(Remote& remote, const std::string& id, const std::string& shown, const std::string& reason,
         const std::string& grant = {}) {
  std::string body = body_of({{"shown", shown}, {"reason", reason}});
  if (!grant.empty()) body = body.substr(0, body.size() - 1) + ",\"grant\":" + grant + "}";
  auto done = remote.client.post(path_of(id, "approve"), body);
  if (!done) return remote.failed(done.error());
  std::string said = progress(*done);
  if (!grant.empty()) said += render_grants(*done, remote.now());
  remote.print(*done, said);
  return kYes;
}

int end(Remote& remote, const std::string& id, const std::string& verb, const std::string& reason) {
  auto done = remote.client.post(path_of(id, verb), body_of({{"reason", reason}}));
  if (!done) return remote.failed(done.error());
  remote.print(*done, progress(*done));
  return kYes;
}

constexpr Millis kForever = std::chrono::hours(24);

enum class Offered : unsigned char { done, quit };

// A page that is new to whoever watches; on a terminal, with the keys.
Offered offer(Remote& remote, const std::string& id) {
  Terminal& terminal = remote.terminal();
  auto page = remote.client.get(path_of(id));
  if (!page) return Offered::done;  // answered or gone meanwhile
  remote.print(*page, render_approval(*page, remote.now()));
  const auto root = parse_object(*page);
  if (remote.invocation.json || !terminal.interactive() || !root) return Offered::done;
  if (!flag(*root, "mayAnswer")) {
    terminal.err("this one is not yours to answer\n");
    return Offered::done;
  }
  terminal.forget_typed();
  for (;;) {
    terminal.err("[a]pprove  [d]eny  [s]kip  [q]uit ");
    const auto key = terminal.read_key(kForever);
    terminal.err("\n");
    if (!key || *key == 'q') return Offered::quit;
    if (*key == 's') return Offered::done;
    if (*key == 'a') {
      terminal.err("approve exactly this? [y/n] ");
      const auto sure = terminal.read_key(kForever);
      terminal.err("\n");
      if (!sure || *sure != 'y') continue;
      auto shown = digest_of_view(*page);
      const int code = shown ? vote(remote, id, *shown, {}) : remote.failed(shown.error());
      static_cast<void>(code);  // said already
      return Offered::done;
    }
    if (*key == 'd') {
      terminal.err("why? (it goes to the model; empty: leave it undecided) ");
      const auto reason = terminal.read_line();
      if (!reason || reason->empty()) continue;
      const int code = end(remote, id, "deny", *reason);
      static_cast<void>(code);
      return Offered::done;
    }
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
  auto grant = grant_of(given, *page, remote.now());
  if (!grant) return complain(terminal, grant.error().message);
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
  return vote(remote, given.id, *shown, given.reason, *grant);
}

int approvals_end(Remote& remote, const std::string& verb) {
  return end(remote, remote.invocation.id, verb, remote.invocation.reason);
}

int approvals_watch(Remote& remote) {
  Terminal& terminal = remote.terminal();
  std::set<std::string> seen;
  std::optional<Error> broken;
  bool quit = false;
  const auto look = [&](std::string_view) {
    auto list = remote.client.get(kApprovals + query_text({{"state", "pending"}, {"limit", "1000"}}));
    if (!list) {
      broken = list.error();
      return false;
    }
    const auto root = parse_object(*list);
    std::vector<std::string> waiting;  // the oldest first
    for (const bj::value& value : root ? cli::list(*root, "approvals") : bj::array()) {
      if (const auto* one = value.if_object()) waiting.insert(waiting.begin(), text(*one, "id"));
    }
    std::erase_if(seen, [&](const std::string& id) { return std::ranges::find(waiting, id) == waiting.end(); });
    for (const std::string& id : waiting) {
      if (seen.insert(id).second && offer(remote, id) == Offered::quit) {
        quit = true;
        return false;
      }
    }
    if (terminal.interactive() && !remote.invocation.json) terminal.err(fmt::format("{} waiting\n", waiting.size()));
    return true;
  };
  terminal.err("watching " + remote.client.target().name() + "; end with Ctrl-C\n");
  for (Millis pause{1'000};;) {
    broken.reset();
    auto ended = remote.client.events(std::string(kApprovals) + "/events", look);
    if (quit) return kYes;
    if (!broken && ended) return kYes;
    const Error error = broken ? *broken : ended.error();
    const bool passing = error.code == ErrorCode::unavailable || error.code == ErrorCode::timeout ||
                         error.code == ErrorCode::io || error.code == ErrorCode::cancelled;
    if (!passing || !terminal.interactive()) return remote.failed(error);
    // A gateway that was restarted comes back; what waited there still does.
    terminal.err(fmt::format("sallyport: {}; trying again in {} s ([q]uit)\n", error.message, pause.count() / 1000));
    const auto key = terminal.read_key(pause);
    if (!key || *key == 'q') return kCouldNot;
    pause = std::min<Millis>(pause * 2, Millis{15'000});
  }
}

int grants_list(Remote& remote) {
  auto found = remote.client.get("/api/v1/grants" +
                                 query_text({{"state", remote.invocation.state_filter == "all" ? "all" : ""}}));
  if (!found) return remote.failed(found.error());
  remote.print(*found, render_grants(*found, remote.now()));
  return kYes;
}

int grants_revoke(Remote& remote) {
  auto done = remote.client.post("/api/v1/grants/" + remote.invocation.id + "/revoke",
                                 body_of({{"reason", remote.invocation.reason}}));
  if (!done) return remote.failed(done.error());
  remote.print(*done, render_grants(*done, remote.now()));
  return kYes;
}

}  // namespace sallyport::gateway::cli
