// The gateway's own tools (design section 5). Approval verbs are never among them.
#include <fmt/format.h>

#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/ids.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr std::string_view kWait =
    R"json({"name":"sallyport_wait","title":"Wait for an approval or an outcome",)json"
    R"json("description":"Waits for the answer to a call that needs a person's approval, then runs exactly the approved call, once, and returns its )json"
    R"json(result. Also tells what became of an operation whose outcome is unknown. Give the approval or operation id from the earlier answer. It waits )json"
    R"json(by itself: call it once and do not poll. It cannot approve anything.",)json"
    R"json("inputSchema":{"type":"object","properties":{"id":{"type":"string","description":"An approval id (ap_…) or operation id (op_…)"}},)json"
    R"json("required":["id"],"additionalProperties":false},)json"
    R"json("annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}})json";

constexpr std::string_view kFinish =
    R"json({"name":"sallyport_finish","title":"Finish this run",)json"
    R"json("description":"Call it when the work is done, before reporting success. It checks that everything this run has to show is there and )json"
    R"json(current, and that nothing is unknown: `complete`, `completion_rejected` (it says what to do first) or `unresolved` (an operator has to )json"
    R"json(settle an operation).",)json"
    R"json("inputSchema":{"type":"object","properties":{},"additionalProperties":false},)json"
    R"json("outputSchema":{"type":"object","properties":{"status":{"type":"string","enum":["complete","completion_rejected","unresolved"]}},)json"
    R"json("required":["status"]},)json"
    R"json("annotations":{"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false}})json";

}  // namespace

Answer Calls::invalid_own_call(const std::string& sentence, ReasonCode code) {
  CallMeta meta;
  give_reason(meta, code, sentence);
  return Answer::of(refusal_result(meta, sentence));
}

std::vector<std::string> Calls::own_tools() const {
  std::vector<std::string> tools{std::string(kWait)};
  if (options_.run_evidence) tools.emplace_back(kFinish);
  return tools;
}

asio::awaitable<Answer> Calls::own_call(Inbound inbound, Request request) {
  if (request.name == "sallyport_finish" && options_.run_evidence) {
    Answer finished = co_await finish_call(std::move(inbound), std::move(request));
    co_return finished;
  }
  if (request.name != "sallyport_wait") {
    // No server's tool has such a name (the catalogue refuses it): unknown, and on record like every other.
    Answer unknown = co_await run(std::move(inbound), std::move(request));
    co_return unknown;
  }
  Answer answer = co_await wait_call(std::move(inbound), std::move(request));
  co_return answer;
}

asio::awaitable<std::optional<OperationRow>> Calls::find_operation(std::string id) {
  std::optional<OperationRow> row;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    if (is_id(id, "ap")) {
      const auto approval = tx.approval(id);
      if (approval) row = tx.operation(approval->operation);
    } else {
      row = tx.operation(id);
    }
    return {};
  });
  if (!read) row.reset();
  co_return row;
}

asio::awaitable<Answer> Calls::wait_call(Inbound inbound, Request request) {
  const json::Value id = request.arguments ? request.arguments.find("id") : json::Value();
  if (!id || !id.is_string() || request.arguments.size() != 1 ||
      (!is_id(id.string(), "ap") && !is_id(id.string(), "op"))) {
    co_return invalid_own_call(
        "`sallyport_wait` takes one argument, `id`: an approval id (ap_…) or an operation id (op_…).");
  }
  auto row = co_await find_operation(id.string());
  // Another principal's operation is the same as none.
  if (!row || row->principal != inbound.client->principal.id) {
    co_return invalid_own_call(fmt::format("There is no approval or operation `{}` of yours.", id.string()));
  }
  auto own = std::make_shared<ClientContext>(*inbound.client);
  own->takes_tasks = false;  // to wait is what it asked for
  inbound.client = std::move(own);
  Repeat found = co_await resume(std::move(*row), inbound.client);
  if (found.answer) co_return std::move(*found.answer);
  const FlightPtr flight = found.flight;
  if (!flight) co_return invalid_own_call("What was to be approved is no longer stored. Call again.");
  const bool tool = flight->call.request.method == Method::tools_call;
  Answer answer = co_await attend(flight, std::move(inbound));
  // What was read is no tool's result; it is handed over as the content of one.
  if (!tool && !answer.error && !is_refusal(answer.result)) {
    answer.result = fmt::format(R"({{"content":[{{"type":"text","text":{}}}],"structuredContent":{}}})",
                                quote(answer.result), answer.result);
  }
  co_return answer;
}

}  // namespace sallyport::gateway::calls
