// Tasks (the extension io.modelcontextprotocol/tasks, mcp.md 1.3): a modern client that declared them need not wait for
// what takes longer than a moment, be it a person's answer or the server's. The task is the operation, its id the
// operation's: in the store before it is told, known to its principal alone, decided again whenever it goes on.
#include <fmt/format.h>

#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "gateway/mcp/modern.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/ids.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr int kPollMs = 2'000;
constexpr UnixMillis kTaskMs = 24LL * 3600 * 1000;  // as long as results are kept that nobody came for

// The members of a task, without braces.
std::string task_members(const OperationRow& row, std::string_view status, std::string_view message) {
  return fmt::format(
      R"("taskId":{},"status":"{}","statusMessage":{},"createdAt":"{}","lastUpdatedAt":"{}","ttlMs":{},"pollIntervalMs":{})",
      quote(row.id), status, quote(message), to_utc(row.created), to_utc(row.updated), kTaskMs, kPollMs);
}

std::string words_for(const Flight& flight) {
  if (flight.stage == Stage::asking) return flight.pending.sentence;
  return fmt::format("`{}` is under way.", flight.call.row.tool);
}

bool is_cancelled(const Answer& answer) {
  const auto document = parsed(answer.result);
  if (!document) return false;
  return document->root().find("_meta").find(mcp::kCallMeta).find("code").equals(to_string(ReasonCode::cancelled));
}

Answer no_such_task() {
  return Answer::fail(mcp::code::kInvalidParams, "There is no task with this id; it may have been forgotten.");
}

}  // namespace

// The server works on it as a task of its own, which the link follows to its end (servers/link_task).
void Calls::take_task(const FlightPtr& flight) {
  OperationRow row = flight->call.row;
  static_cast<void>(step(row, Event::dispatch));
  if (!step(row, Event::take_task)) return;
  row.updated = clock_.now();
  flight->call.row = row;
  store_.post([row = std::move(row)](Tx& tx) { return tx.put(row); });
}

bool Calls::knows_task_method(std::string_view method) {
  return method == "tasks/get" || method == "tasks/update" || method == "tasks/cancel";
}

// The answer to a call that goes on without its client. Whatever it comes to is kept for who asks by the task's id.
Answer Calls::make_task(const FlightPtr& flight) {
  flight->left = true;
  const Call& call = flight->call;
  CallMeta meta;
  meta.verdict = call.judged.decision.verdict;
  meta.operation = call.row.id;
  meta.approval = call.approval;
  if (flight->stage == Stage::asking) {
    meta.code = ReasonCode::approval_pending;
    meta.retry = Retry::after_approval;
    meta.reasons = flight->pending.reasons;
  } else {
    meta.outcome = Outcome::unknown;  // as yet
  }
  Answer answer = Answer::of(fmt::format(R"({{{},"_meta":{{"{}":{}}}}})",
                                         task_members(flight->call.row, "working", words_for(*flight)), mcp::kCallMeta,
                                         to_json(meta)));
  answer.result_type = mcp::result_type::kTask;
  return answer;
}

// Until it is done, or a moment has passed. Whoever looks and goes away changes nothing.
asio::awaitable<void> Calls::look_in(FlightPtr flight, std::shared_ptr<const ClientContext> client,
                                     ClientChannel* channel) {
  Waiter waiter{.channel = channel, .session = client->session};
  const Attached attached(flight, waiter);
  const Deadline until = Deadline::after(kTaskAfter);
  while (flight->stage != Stage::done && !flight->dormant && !until.passed()) co_await flight->changed.wait(until);
}

asio::awaitable<Answer> Calls::task_call(Inbound inbound) {
  const InHand in_hand(*this);
  const json::Value id = inbound.params.find("taskId");
  if (!id.is_string() || !is_id(id.string(), "op")) co_return no_such_task();
  auto row = co_await find_operation(id.string());
  // Another principal's is the same as none.
  if (!row || row->principal != inbound.client->principal.id) co_return no_such_task();
  if (inbound.method == "tasks/update") co_return Answer::of("{}");  // ours never ask for anything
  Repeat found = co_await resume(*row, inbound.client);
  if (inbound.method == "tasks/cancel" && found.flight) found.flight->cancel.cancel(CancelReason::client);
  if (found.flight) co_await look_in(found.flight, inbound.client, inbound.channel);
  if (inbound.method == "tasks/cancel") co_return Answer::of("{}");
  const bool over = found.flight && found.flight->stage == Stage::done;
  if (over) found.answer = answer_of(found.flight);
  if (found.flight) row = found.flight->call.row;
  if (!found.answer && found.flight)
    co_return Answer::of("{" + task_members(*row, "working", words_for(*found.flight)) + "}");
  if (!found.answer) found.answer = Answer::fail(mcp::code::kRefused, "What was to be approved is no longer stored.");
  co_return ended_task(*row, std::move(*found.answer));
}

Answer Calls::ended_task(const OperationRow& row, Answer ended) {
  Answer answer;
  if (ended.error) {
    const mcp::RpcError& error = *ended.error;
    answer.result =
        fmt::format(R"({{{},"error":{{"code":{},"message":{}{}}}}})", task_members(row, "failed", error.message),
                    error.code, quote(error.message), error.data.empty() ? "" : ",\"data\":" + error.data);
  } else if (is_cancelled(ended)) {
    answer.result = "{" + task_members(row, "cancelled", "It was cancelled.") + "}";
  } else {
    answer.result = fmt::format(R"({{{},"result":{}}})", task_members(row, "completed", "It has ended."),
                                mcp::with_first(std::move(ended.result), R"("resultType":"complete")"));
  }
  // Handed over, so that the same call is a new one; whoever polls again is told the same for a day.
  answer.delivered = [this, id = row.id](bool in_full) { delivered(id, in_full, true); };
  return answer;
}

}  // namespace sallyport::gateway::calls
