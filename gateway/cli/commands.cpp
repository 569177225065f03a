#include "gateway/cli/commands.hpp"

#include <algorithm>
#include <boost/json.hpp>
#include <fstream>
#include <iterator>

#include "gateway/cli/page.hpp"
#include "gateway/cli/remote.hpp"
#include "gateway/cli/render.hpp"
#include "gateway/cli/times.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::gateway::cli {
namespace {

constexpr std::size_t kMostArguments = 4U << 20;
constexpr Millis kCall{20 * 60'000};  // it may wait for an approval, and then for the server

std::string call_body(const Invocation& given, const std::string& arguments, bool with_principal) {
  std::string out = R"({"server":)" + quote(given.server) + R"(,"tool":)" + quote(given.tool);
  if (with_principal && !given.principal.empty()) out += R"(,"principal":)" + quote(given.principal);
  return out + R"(,"arguments":)" + arguments + "}";
}

int call_tool(Remote& remote) {
  auto arguments = read_arguments(remote.invocation.arguments, remote.terminal());
  if (!arguments) return remote.failed(arguments.error());
  auto result = remote.client.post("/api/v1/call", call_body(remote.invocation, *arguments, false), kCall);
  if (!result) return remote.failed(result.error());
  remote.print(*result, render_call(*result));
  if (!remote.invocation.json) remote.terminal().err(render_call_note(*result));
  const auto root = parse_object(*result);
  return root && flag(*root, "isError") ? kNo : kYes;
}

int explain_call(Remote& remote) {
  auto arguments = read_arguments(remote.invocation.arguments, remote.terminal());
  if (!arguments) return remote.failed(arguments.error());
  auto result = remote.client.post("/api/v1/explain", call_body(remote.invocation, *arguments, true));
  if (!result) return remote.failed(result.error());
  remote.print(*result, render_explanation(*result));
  const auto root = parse_object(*result);
  return root && text(*root, "verdict") == "allow" ? kYes : kNo;
}

bool speaks_of(const boost::json::object& root, std::string_view list_name, std::string_view member,
               const std::string& id, std::vector<std::string>& known) {
  bool found = false;
  for (const auto& value : list(root, list_name)) {
    if (!value.is_object()) continue;
    known.push_back(text(value.as_object(), member));
    found = found || known.back() == id;
  }
  return found;
}

int tools(Remote& remote) {
  const std::string& server = remote.invocation.server;
  auto answer = remote.client.get("/api/v1/tools");
  if (!answer) return remote.failed(answer.error());
  const auto root = parse_object(*answer);
  std::vector<std::string> known;
  bool found = server.empty() || !root;
  for (const char* name : {"tools", "others", "problems"})
    found = found || speaks_of(*root, name, "server", server, known);
  if (!found) {  // one that offers nothing, perhaps
    auto status = remote.client.get("/api/v1/status");
    if (!status) return remote.failed(status.error());
    const auto servers = parse_object(*status);
    if (servers && !speaks_of(*servers, "servers", "id", server, known)) {
      const auto near = nearest(server, known);
      return remote.failed({ErrorCode::not_found, "there is no server `" + visible(server) + "`" +
                                                      (near ? ": did you mean `" + visible(*near) + "`?" : "")});
    }
  }
  remote.print(*answer, render_tools(*answer, server));
  return kYes;
}

template <class Render>
int show_answer(Remote& remote, const std::string& path, Render render) {
  auto answer = remote.client.get(path);
  if (!answer) return remote.failed(answer.error());
  remote.print(*answer, render(*answer));
  return kYes;
}

int receipts_list(Remote& remote) {
  const ReceiptQuery& query = remote.invocation.query;
  std::string since, until;
  for (const auto& [written, into] : {std::pair{query.since, &since}, std::pair{query.until, &until}}) {
    if (written.empty()) continue;
    const auto moment = parse_moment(written, remote.now());
    if (!moment) return complain(remote.terminal(), moment.error().message);
    *into = to_utc(*moment);
  }
  const std::string path = "/api/v1/receipts" + query_text({{"operation", query.operation},
                                                            {"principal", query.principal},
                                                            {"server", query.server},
                                                            {"tool", query.tool},
                                                            {"kind", query.kind},
                                                            {"verdict", query.verdict},
                                                            {"effect", query.effect},
                                                            {"since", since},
                                                            {"until", until},
                                                            {"outcome", query.outcome},
                                                            {"limit", std::to_string(remote.invocation.limit)}});
  return show_answer(remote, path, [](const std::string& json) { return render_receipts(json); });
}

// A receipt and the story that it belongs to; an operation's id gives the story alone.
int receipts_show(Remote& remote) {
  const std::string& id = remote.invocation.id;
  const auto story_of = [&](const std::string& operation) {
    return remote.client.get("/api/v1/operations/" + operation);
  };
  if (id.starts_with("op_")) {
    auto operation = story_of(id);
    if (!operation) return remote.failed(operation.error());
    remote.print(*operation, render_story(*operation));
    return kYes;
  }
  auto receipt = remote.client.get("/api/v1/receipts/" + id);
  if (!receipt) return remote.failed(receipt.error());
  std::string story;
  const auto root = parse_object(*receipt);
  const std::string operation = root ? text(child(child(*root, "receipt"), "predicate"), "operation") : std::string();
  if (!operation.empty() && !remote.invocation.json) {
    if (auto found = story_of(operation)) story = render_story(*found) + "\n";
  }
  remote.print(*receipt, story + render_receipt(*receipt));
  return kYes;
}

int receipts_open(Remote& remote) {
  const Invocation& given = remote.invocation;
  std::string body = "{}";
  if (!given.arguments.empty()) {
    auto arguments = read_arguments(given.arguments, remote.terminal());
    if (!arguments) return remote.failed(arguments.error());
    body = R"({"arguments":)" + *arguments + "}";
  }
  auto answer = remote.client.post("/api/v1/receipts/" + given.id + "/open", body);
  if (!answer) return remote.failed(answer.error());
  remote.print(*answer, render_opened(*answer));
  const auto root = parse_object(*answer);
  return root && flag(*root, "matches") ? kYes : kNo;
}

int receipts_checkpoint(Remote& remote) {
  auto answer = remote.client.post("/api/v1/checkpoint", "{}");
  if (!answer) return remote.failed(answer.error());
  const auto root = parse_object(*answer);
  const auto* note = root ? root->if_contains("checkpoint") : nullptr;
  remote.print(*answer, note != nullptr && note->is_string() ? std::string(note->as_string()) : *answer);
  if (const std::string problem = root ? text(*root, "problem") : std::string(); !problem.empty()) {
    remote.terminal().err("sallyport: it was not anchored: " + problem + "\n");
  }
  return kYes;
}

int resolve(Remote& remote) {
  const Invocation& given = remote.invocation;
  auto done = remote.client.post("/api/v1/operations/" + given.id + "/resolve",
                                 body_of({{"outcome", given.outcome}, {"reason", given.reason}}));
  if (!done) return remote.failed(done.error());
  remote.print(*done, render_operation(*done));
  return kYes;
}

// The one with that id of a list that the control side gives.
int show_one(Remote& remote, const std::string& path, std::string_view list_name,
             const std::function<std::string(const std::string&)>& render) {
  auto found = remote.client.get(path);
  if (!found) return remote.failed(found.error());
  const std::string& id = remote.invocation.id;
  boost::json::array one;
  if (const auto root = parse_object(*found)) {
    for (const auto& value : list(*root, list_name)) {
      if (value.is_object() && text(value.as_object(), "id") == id) one.push_back(value);
    }
  }
  if (one.empty()) return remote.failed({ErrorCode::not_found, "there is no `" + visible(id) + "`"});
  const std::string json = json::canonical(boost::json::value(boost::json::object{{list_name, std::move(one)}}));
  remote.print(json, render(json));
  return kYes;
}

// The whole story: an operation with its ask, an ask with its operation.
int show(Remote& remote) {
  const std::string& id = remote.invocation.id;
  if (id.starts_with("rc_")) return receipts_show(remote);
  if (id.starts_with("st_")) return show_one(remote, "/api/v1/stops", "stops", render_stops);
  if (id.starts_with("gr_")) {
    return show_one(remote, "/api/v1/grants?state=all", "grants",
                    [&](const std::string& json) { return render_grants(json, remote.now()); });
  }
  if (id.starts_with("run_")) {
    return show_answer(remote, "/api/v1/receipts" + query_text({{"run", id}, {"limit", "1000"}}),
                       [](const std::string& json) { return render_receipts(json); });
  }
  std::string approval, operation;
  if (id.starts_with("ap_")) {
    auto page = remote.client.get("/api/v1/approvals/" + id);
    if (!page) return remote.failed(page.error());
    approval = std::move(*page);
    if (const auto root = parse_object(approval)) operation = text(*root, "operation");
  } else if (id.starts_with("op_")) {
    operation = id;
  } else {
    return complain(remote.terminal(),
                    "`" + visible(id) + "` is no id; they begin with op_, ap_, rc_, run_, gr_ or st_");
  }
  std::string story = approval.empty() ? std::string() : render_approval(approval, remote.now());
  std::string json = approval.empty() ? std::string() : R"("approval":)" + approval;
  auto found = remote.client.get("/api/v1/operations/" + operation);
  if (!found) return remote.failed(found.error());
  const auto root = parse_object(*found);
  if (const std::string asked = root ? text(*root, "approval") : std::string(); approval.empty() && !asked.empty()) {
    if (auto page = remote.client.get("/api/v1/approvals/" + asked)) {
      story += render_approval(*page, remote.now());
      json += R"("approval":)" + *page;
    }
  }
  story += (story.empty() ? "" : "\n") + render_story(*found);
  json += (json.empty() ? "" : ",") + (R"("operation":)" + *found);
  remote.print("{" + json + "}", story);
  return kYes;
}

// It becomes a part of a path.
bool is_id(const std::string& text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
  });
}

int dispatch(Remote& remote) {
  const Invocation& given = remote.invocation;
  const std::string operations = "/api/v1/operations";
  switch (given.command) {
    case Command::approvals_list:
      return approvals_list(remote);
    case Command::approvals_watch:
      return approvals_watch(remote);
    case Command::approvals_show:
      return approvals_show(remote);
    case Command::approvals_approve:
      return approvals_approve(remote);
    case Command::approvals_deny:
      return approvals_end(remote, "deny");
    case Command::approvals_revoke:
      return approvals_end(remote, "revoke");
    case Command::grants_list:
      return grants_list(remote);
    case Command::grants_revoke:
      return grants_revoke(remote);
    case Command::operations_list:
      return show_answer(
          remote, operations + query_text({{"state", given.state_filter}, {"limit", std::to_string(given.limit)}}),
          [](const std::string& json) { return render_operations(json); });
    case Command::operations_show:
      return show_answer(remote, operations + "/" + given.id,
                         [](const std::string& json) { return render_operation(json); });
    case Command::operations_resolve:
      return resolve(remote);
    case Command::receipts_list:
      return receipts_list(remote);
    case Command::receipts_show:
      return receipts_show(remote);
    case Command::receipts_open:
      return receipts_open(remote);
    case Command::receipts_checkpoint:
      return receipts_checkpoint(remote);
    case Command::show:
      return show(remote);
    case Command::stop:
      return stop_command(remote);
    case Command::status:
      return show_answer(remote, "/api/v1/status", [](const std::string& json) { return render_status(json); });
    case Command::tools:
      return tools(remote);
    case Command::call:
      return call_tool(remote);
    case Command::explain:
      return explain_call(remote);
    case Command::trust_accept:
    case Command::trust_diff:
    case Command::trust_show:
      return trust_command(remote);
    case Command::reload:
    case Command::policy_accept:
    case Command::policy_diff:
      return policy_command(remote);
    default:
      return complain(remote.terminal(), "this command does not go through the control side");
  }
}

}  // namespace

bool is_remote(Command command) {
  switch (command) {
    case Command::init:
    case Command::serve:
    case Command::stdio:
    case Command::wrap:
    case Command::check:
    case Command::policy_test:
    case Command::policy_replay:
    case Command::policy_suggest:
    case Command::receipts_verify:
    case Command::receipts_export:
    case Command::receipts_key:
    case Command::receipts_prove:
    case Command::receipts_duplicates:
    case Command::token_new:
      return false;
    default:
      return true;
  }
}

void Remote::print(const std::string& json, const std::string& text) const {
  terminal().out(invocation.json ? json + "\n" : text);
}

int Remote::failed(const Error& error) const {
  terminal().err("sallyport: " + error.message + "\n");
  const bool said_no =
      error.code == ErrorCode::forbidden || error.code == ErrorCode::conflict || error.code == ErrorCode::not_found;
  return said_no ? kNo : kCouldNot;
}

std::string body_of(const Members& members) {
  std::string out;
  for (const auto& [name, value] : members) {
    if (!value.empty()) out += (out.empty() ? "" : ",") + quote(name) + ":" + quote(value);
  }
  return "{" + out + "}";
}

Result<std::string> read_arguments(const std::string& arguments, Terminal& terminal) {
  std::string text = arguments.empty() ? "{}" : arguments;
  if (text == "-") {
    auto all = terminal.read_all(kMostArguments);
    if (!all) return fail(ErrorCode::invalid, "the arguments on standard input cannot be read, or are too long");
    text = std::move(*all);
  } else if (text.starts_with('@')) {
    std::ifstream file(text.substr(1), std::ios::binary);
    if (!file) return fail(ErrorCode::invalid, "cannot read `" + visible(text.substr(1)) + "`");
    text.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto document = json::Document::parse(text, {.bytes = kMostArguments});
  if (!document) return fail(ErrorCode::invalid, "the arguments are no JSON: " + document.error().message);
  if (!document->root().is_object()) return fail(ErrorCode::invalid, "the arguments must be a JSON object");
  return std::string(document->root().raw());
}

int run_remote(const Invocation& invocation, const RemoteContext& context) {
  if (!is_id(invocation.id)) return complain(context.terminal, "`" + visible(invocation.id) + "` is no id");
  auto target = ControlTarget::make(invocation.url, context.control_socket, invocation.ca_file);
  if (!target) return complain(context.terminal, target.error().message);
  if (invocation.command == Command::login) return login(invocation, context, *target);
  auto token = find_credential(invocation.token_file, target->name(), context.environment);
  if (!token) {
    // Where no gateway runs, a credential is not what is missing.
    ControlClient nobody(std::move(*target), Secret());
    const auto alive = nobody.get("/healthz");
    const bool gone = !alive && alive.error().code == ErrorCode::unavailable;
    return complain(context.terminal, gone ? alive.error().message : token.error().message);
  }
  Remote remote{invocation, context, ControlClient(std::move(*target), std::move(*token))};
  const int code = dispatch(remote);
  return context.terminal.broken() ? kCouldNot : code;
}

}  // namespace sallyport::gateway::cli
