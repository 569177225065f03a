// The gateway's own calls (design section 3): lookups and revisions. They go the way of a call as principal `gateway`,
// named by the trust file instead of by rules; only pinned tools that effectively read; each with a receipt that names
// what it served.
#include <fmt/format.h>

#include "gateway/calls/calls.hpp"
#include "policy/rules/policy.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/servers/contract.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr auto kOwnRead = std::chrono::seconds(10);
constexpr const char* kGateway = "gateway";

std::shared_ptr<const ClientContext> own_context(const OperationRow& cause) {
  auto context = std::make_shared<ClientContext>();
  context->principal.id = kGateway;
  context->mount.server = cause.server;
  context->session = cause.session;  // of a child per session, the one that did the work
  context->run = cause.run;
  context->transport = kGateway;
  return context;
}

// Good enough to believe: a result, no error, and what its outputSchema promises.
Result<json::Value> believable(const Call& call, const ServerAnswer& answer) {
  if (answer.kind != ServerAnswer::Kind::result || !is_tool_result(answer.result))
    return fail(ErrorCode::unavailable, answer.detail.empty() ? "it did not answer" : answer.detail);
  if (is_error_result(answer)) return fail(ErrorCode::unavailable, "it answered with an error");
  std::string warning;
  const auto withheld = judge_result(call, answer, warning);
  if (withheld || !warning.empty()) return fail(ErrorCode::invalid, "its result " + (withheld ? *withheld : warning));
  const json::Value structured = answer.result.find("structuredContent");
  if (!structured || !structured.is_object()) return fail(ErrorCode::invalid, "its result has no structuredContent");
  return structured;
}

// Whoever ends the process can cancel it.
class Listed {
 public:
  Listed(std::set<Flight*>& list, Flight* flight) : list_(list), flight_(flight) { list_.insert(flight_); }
  ~Listed() { list_.erase(flight_); }
  Listed(const Listed&) = delete;
  Listed& operator=(const Listed&) = delete;

 private:
  std::set<Flight*>& list_;
  Flight* flight_;
};

}  // namespace

Status Calls::prepare_own_read(Call& call, const std::string& tool) const {
  Judgement& judged = call.judged;
  judged.snapshot = snapshots_.current();
  judged.epoch = epoch_;
  const auto server = judged.snapshot->servers.find(call.request.client->mount.server);
  if (server == judged.snapshot->servers.end()) return fail(ErrorCode::not_found, "the server is gone");
  const auto found = server->second.tools.find(tool);
  if (found == server->second.tools.end())
    return fail(ErrorCode::not_found, fmt::format("the server has no tool `{}`", visible(tool)));
  judged.server = &server->second;
  judged.tool = found->second;
  call.row.server = judged.tool->ref.server;
  call.row.tool = judged.tool->ref.tool;
  call.row.definition = judged.tool->digest;
  check_stops(call, *this);
  check_definition(call, *this);
  check_arguments(call, *this);
  apply_contract(call, *this);
  if (judged.refused()) return fail(ErrorCode::forbidden, judged.refusals.front().sentence);
  if (judged.tool->state != ToolState::pinned)
    return fail(ErrorCode::forbidden, fmt::format("the tool `{}` is not an accepted one", visible(tool)));
  if (!call.row.is_read)
    return fail(ErrorCode::forbidden, fmt::format("the tool `{}` is no read by its contract", visible(tool)));
  judged.decision.verdict = Verdict::allow;
  judged.concluded = true;
  return {};
}

asio::awaitable<Result<Calls::OwnAnswer>> Calls::read_for(OperationRow cause, std::string tool, std::string arguments) {
  auto params = call_params(tool, arguments);
  if (!params) co_return fail(params.error());
  Inbound inbound;
  inbound.client = own_context(cause);
  inbound.document = *params;
  inbound.params = (*params)->root();
  inbound.received = clock_.now();
  Answer fault;
  auto request = read_request(inbound, fault);
  if (!request) co_return fail(ErrorCode::invalid, fault.error->message);
  const FlightPtr flight = new_flight(std::move(*request), inbound.received);
  Call& call = flight->call;
  call.cause = cause.id;
  call.whose = cause.principal;
  if (auto prepared = prepare_own_read(call, tool); !prepared) co_return fail(prepared.error());
  flight->deadline = Deadline::after(kOwnRead);
  const Listed listed(own_reads_, flight.get());
  if (health_of(call).admit(true, Deadline::Clock::now()) == ServerHealth::Gate::shut)
    co_return fail(ErrorCode::unavailable, "the server failed several times in a row, and nothing is sent to it now");
  LinkKey key{cause.server, cause.principal, cause.session};
  auto link = co_await servers_.link(std::move(key), flight->deadline);
  if (!link && link.error().code == ErrorCode::forbidden) co_return fail(link.error());
  if (!link) {
    health_of(call).failed(Deadline::Clock::now());
    co_return fail(link.error());
  }
  auto same = co_await definitions_.verify(*link, call.judged.tool, flight->deadline);
  if (!same && same.error().code == ErrorCode::forbidden) co_return fail(same.error());
  if (!same) {
    health_of(call).failed(Deadline::Clock::now());
    co_return fail(same.error());
  }
  if (!*same || !is_current(call.judged)) co_return fail(ErrorCode::conflict, "what is in force changed meanwhile");
  auto permit = record_own_read(call);
  if (!permit) co_return fail(permit.error());
  ServerAnswer answer = co_await send(flight, *link, std::move(*permit));
  OwnAnswer own{answer.document, {}, {}};
  const auto structured = believable(call, answer);
  co_await conclude(flight, std::move(answer));
  if (!structured) co_return fail(structured.error());
  own.structured = *structured;
  own.receipt = call.row.receipt;
  co_return own;
}

}  // namespace sallyport::gateway::calls
