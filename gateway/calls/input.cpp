// A server of the modern era that wants to know something first (ports/input.hpp). Each leg is judged and recorded like
// a call: its answers are arguments. The operation stays open between legs; a leg that nobody sends makes a write
// unknown.
#include <fmt/format.h>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::calls {
namespace {

constexpr int kMostLegs = 9;  // the first and 8 rounds of questions
constexpr std::size_t kMostQuestions = 16;
constexpr std::size_t kMostParked = 1'000;
constexpr std::chrono::minutes kAnswerWait{10};

void give_no_input(Call& call, ReasonCode code, std::string sentence) {
  Refusal refusal;
  refusal.code = code;
  refusal.sentence = std::move(sentence);
  call.no_input = std::move(refusal);
}

std::string asked_by(const Call& call) {
  return fmt::format("The server `{}` wants to know something first", call.row.server);
}

// One of the server's questions; nullopt: it is none.
std::optional<ServerQuestion> question_of(const Call& call, const ServerAnswer& answer, json::Value request) {
  const json::Value method = request.find("method");
  const json::Value params = request.find("params");
  if (!method.is_string() || (params && !params.is_object())) return std::nullopt;
  ServerQuestion question;
  question.server = call.row.server;
  question.method = method.string();
  question.document = answer.document;
  question.params = params;
  question.deadline = Deadline::after(kAnswerWait);
  return question;
}

// Legacy clients know a question that leads to a page by an id.
void add_elicitation_id(ServerQuestion& question, const std::string& id) {
  if (!question.params.find("mode").equals("url") || question.params.find("elicitationId")) return;
  auto made = parsed(mcp::replace_value(question.params, "elicitationId", quote(id)));
  if (!made) return;
  question.document = std::move(made);
  question.params = question.document->root();
}

// False: no_input says why these answers go nowhere.
bool take_leg(Call& call, int leg, std::string state, std::shared_ptr<const json::Document> document,
              json::Value answers) {
  auto made = make_leg(call.request.arguments, leg, std::move(state), std::move(document), answers);
  if (!made) {
    give_no_input(
        call, ReasonCode::arguments_invalid,
        fmt::format("The answers for the server `{}` cannot be judged: {}.", call.row.server, made.error().message));
    return false;
  }
  call.input = std::move(*made);
  call.secrets.reset();
  return true;
}

std::string raw_state(const ServerAnswer& answer) {
  const json::Value state = answer.result.find("requestState");
  return state.is_string() ? std::string(state.raw()) : std::string();
}

}  // namespace

// Everything from the recorded intent to the end, over as many legs as the server wants.
asio::awaitable<void> Calls::run_legs(FlightPtr flight, std::shared_ptr<ServerLink> link, PermittedCall permit) {
  Call& call = flight->call;
  for (;;) {
    ServerAnswer answer = co_await send(flight, link, std::move(permit));
    if (!wants_input(call, answer)) {
      co_await conclude(flight, std::move(answer));
      co_await tell_reconciled(flight);
      co_return;
    }
    const bool more = co_await get_input(flight, std::move(answer));
    if (flight->input) co_return;  // the client has it, and may come back
    std::optional<Leg> next;
    if (more) next = co_await next_leg(flight);
    if (!next) {
      co_await conclude_unasked(flight);
      co_return;
    }
    link = std::move(next->link);
    permit = std::move(next->permit);
  }
}

// What the server asks goes to the client, the way its era has for that. False: it has no answer; no_input says why.
asio::awaitable<bool> Calls::get_input(FlightPtr flight, ServerAnswer answer) {
  Call& call = flight->call;
  OperationRow row = call.row;
  static_cast<void>(step(row, Event::dispatch));
  const auto stepped = step(row, Event::need_input);
  row.updated = clock_.now();
  const Status stored = stepped ? co_await store_.commit(Durability::crash, [&](Tx& tx) { return tx.put(row); })
                                : Status(fail(stepped.error()));
  if (!stored) {
    give_no_input(call, ReasonCode::recording_unavailable, asked_by(call) + ", which could not be recorded.");
    co_return false;
  }
  call.row = std::move(row);
  if (call.input.leg >= kMostLegs) {
    give_no_input(
        call, ReasonCode::limit_reached,
        fmt::format("The server `{}` asked {} times and still does not answer.", call.row.server, kMostLegs - 1));
    co_return false;
  }
  if (call.judged.decision.verdict == Verdict::ask) {
    give_no_input(call, ReasonCode::approval_invalidated,
                  asked_by(call) + ", and the approval was for the arguments alone.");
    co_return false;
  }
  if (flight->left) {
    give_no_input(call, ReasonCode::server_unavailable,
                  asked_by(call) + ", and its client was told to come back later.");
    co_return false;
  }
  if (answer.result.find("inputRequests").size() > kMostQuestions) {
    give_no_input(call, ReasonCode::limit_reached, asked_by(call) + ", and asks more at once than is passed on.");
    co_return false;
  }
  if (call.request.client->era == mcp::Era::modern) {
    park(flight, answer);
    co_return flight->input != nullptr;
  }
  const bool asked = co_await ask_client(flight, std::move(answer));
  co_return asked;
}

// Legacy: one question after the other, on the stream of the client's own request.
asio::awaitable<bool> Calls::ask_client(FlightPtr flight, ServerAnswer answer) {
  Call& call = flight->call;
  const auto cancel = std::make_shared<Cancel>();
  flight->cancel.on_cancel([cancel](CancelReason reason) { cancel->cancel(reason); });
  std::string given;
  int number = 0;
  for (const json::Member request : answer.result.find("inputRequests").members()) {
    std::optional<ServerQuestion> question = question_of(call, answer, request.value);
    if (!question) {
      give_no_input(call, ReasonCode::server_unavailable, asked_by(call) + ", in a form that cannot be read.");
      break;
    }
    const std::string method = question->method;
    question->cancel = cancel;
    add_elicitation_id(*question, fmt::format("{}-{}-{}", call.row.id, call.input.leg, ++number));
    const ClientReply reply = co_await pass_question(flight, std::move(*question));
    if (flight->cancel.reason()) {
      give_no_input(call, ReasonCode::cancelled, asked_by(call) + ", and the client cancelled the call.");
      break;
    }
    if (reply.error) {
      give_no_input(call, ReasonCode::server_unavailable,
                    fmt::format("{} (`{}`), and gets no answer: {}.", asked_by(call), visible(method),
                                visible(reply.error->message)));
      break;
    }
    given += fmt::format("{}{}:{}", given.empty() ? "" : ",", request.key.raw(), reply.result);
  }
  flight->cancel.on_cancel({});
  if (call.no_input) co_return false;
  const bool asked = answer.result.find("inputRequests").is_object();
  const auto document = parsed("{" + given + "}");
  const json::Value answers = asked && document ? document->root() : json::Value();
  const bool taken = document && take_leg(call, call.input.leg + 1, raw_state(answer), document, answers);
  if (!taken && !call.no_input)
    give_no_input(call, ReasonCode::arguments_invalid, asked_by(call) + ", and the client's answer cannot be read.");
  co_return taken;
}

// Modern: the questions are the answer to the client, and the call waits for it to come back.
void Calls::park(const FlightPtr& flight, const ServerAnswer& answer) {
  Call& call = flight->call;
  std::size_t own = 0;
  for (const auto& [id, parked] : parked_) own += parked.flight->call.row.principal == call.row.principal ? 1 : 0;
  if (parked_.size() >= kMostParked || own >= kMostParked / 4) {
    return give_no_input(call, ReasonCode::limit_reached, asked_by(call) + ", and too many calls wait for that.");
  }
  std::string requests;
  for (const json::Member request : answer.result.find("inputRequests").members()) {
    auto question = question_of(call, answer, request.value);
    std::string refused = question ? refuse_question(call, *question) : std::string("its question cannot be read");
    const auto params = refused.empty() ? label_question(*question) : nullptr;
    if (refused.empty() && !params) refused = "its question cannot be read";
    if (!refused.empty())
      return give_no_input(call, ReasonCode::server_unavailable,
                           fmt::format("{}, and is not answered: {}.", asked_by(call), refused));
    requests += fmt::format("{}{}:{{\"method\":{},\"params\":{}}}", requests.empty() ? "" : ",", request.key.raw(),
                            quote(question->method), params->root().raw());
  }
  auto needed = std::make_shared<InputNeeded>();
  needed->operation = call.row.id;
  needed->leg = call.input.leg;
  needed->server = call.row.server;
  needed->tool = call.row.tool;
  if (call.judged.tool->method == Method::tools_call) needed->definition = call.judged.tool->current_digest;
  needed->arguments = trust::digest_text(call.request.arguments ? call.request.arguments.raw() : std::string_view());
  if (answer.result.find("inputRequests").is_object()) needed->requests = "{" + requests + "}";
  needed->state = raw_state(answer);
  needed->expires = clock_.now() + std::chrono::duration_cast<Millis>(kAnswerWait).count();
  flight->input = std::move(needed);
  call.input.state = flight->input->state;
  parked_[call.row.id] = Parked{flight, Deadline::after(kAnswerWait)};
}

// Decided again with the answers, on what is in force now; then recorded. nullopt: no_input says why not.
asio::awaitable<std::optional<Calls::Leg>> Calls::next_leg(FlightPtr flight) {
  Call& call = flight->call;
  const Judgement before = call.judged;
  flight->deadline = deadline_for(call);
  for (int pass = 0; pass < 3; ++pass) {
    co_await decide(flight);
    std::shared_ptr<ServerLink> link;
    if (!call.judged.refused() && call.judged.decision.verdict == Verdict::allow) link = co_await connect(flight);
    if (call.judged.refused()) {
      call.no_input = call.judged.refusals.front();
    } else if (call.judged.decision.verdict != Verdict::allow) {
      give_no_input(call, ReasonCode::policy_denied,
                    "The answers to the server's question would need an approval, which nobody can give in the middle "
                    "of a call.");
    } else if (flight->cancel.reason()) {
      give_no_input(call, ReasonCode::cancelled, "The call was cancelled before the answers were sent.");
    } else if (!link || !is_current(call.judged)) {
      continue;
    }
    if (call.no_input) {
      call.judged = before;
      co_return std::nullopt;
    }
    auto permit = co_await record_leg(flight);
    if (!permit) {
      call.judged = before;
      give_no_input(call, ReasonCode::recording_unavailable,
                    "The answers could not be recorded: " + permit.error().message + ".");
      co_return std::nullopt;
    }
    co_return Leg{std::move(link), std::move(*permit)};
  }
  call.judged = before;
  give_no_input(call, ReasonCode::limit_reached, "The tool changed while the server waited for an answer.");
  co_return std::nullopt;
}

// The last leg is missing: nobody knows what the server made of the earlier ones.
asio::awaitable<void> Calls::conclude_unasked(FlightPtr flight) {
  ServerAnswer none;
  none.kind = ServerAnswer::Kind::lost;
  none.sent = true;
  none.modern = true;
  none.detail = flight->call.no_input ? flight->call.no_input->sentence : "its question was not answered";
  co_await conclude(flight, std::move(none));
  co_await tell_reconciled(flight);
}

// A modern client comes back with its answers.
asio::awaitable<Answer> Calls::continue_call(Inbound inbound, Request request) {
  const InputGiven given = *inbound.given;
  const auto found = parked_.find(given.operation);
  if (found == parked_.end()) {
    auto row = co_await find_operation(given.operation);
    const bool own = row && row->principal == inbound.client->principal.id;
    if (own && is_unknown(row->state)) co_return still_unknown(*row);
    co_return Answer::fail(mcp::code::kInvalidParams, "The requestState is no longer valid; call without it.");
  }
  const FlightPtr flight = found->second.flight;
  Call& call = flight->call;
  const auto raw = [](json::Value arguments) { return arguments ? arguments.raw() : std::string_view("{}"); };
  const bool same = call.row.principal == inbound.client->principal.id && call.input.leg == given.leg &&
                    call.request.method == request.method && call.request.name == request.name &&
                    call.request.uri == request.uri && raw(call.request.arguments) == raw(request.arguments);
  if (!same) co_return Answer::fail(mcp::code::kInvalidParams, "The requestState belongs to another call.");
  if (flights_.size() >= options_.limits.calls_in_flight || closing_)
    co_return Answer::fail(mcp::code::kRefused, "Too many calls are under way: send it again in a moment.");
  parked_.erase(found);
  request.key = call.request.key;
  request.target = call.request.target;
  request.received = call.request.received;
  call.request = std::move(request);
  static_cast<void>(take_leg(call, given.leg + 1, given.state, given.document, given.responses));
  start_leg(flight);
  Answer answer = co_await attend(flight, std::move(inbound));
  co_return answer;
}

void Calls::start_leg(const FlightPtr& flight) {
  flight->input = nullptr;
  flight->stage = Stage::running;
  start(flight, go_on(flight));
}

// From where its server asked: with the answers, or without any.
asio::awaitable<void> Calls::go_on(FlightPtr flight) {
  std::optional<Leg> next;
  if (!flight->call.no_input) next = co_await next_leg(flight);
  if (next) {
    co_await run_legs(flight, std::move(next->link), std::move(next->permit));
  } else {
    co_await conclude_unasked(flight);
  }
}

// Whose client did not come back in time, or never can: `all` at the end of the process.
void Calls::close_parked(bool all) {
  for (auto it = parked_.begin(); it != parked_.end();) {
    if (!all && !it->second.until.passed() && it->second.flight->input->expires > clock_.now()) {
      ++it;
      continue;
    }
    const FlightPtr flight = it->second.flight;
    it = parked_.erase(it);
    give_no_input(flight->call, ReasonCode::deadline_exceeded,
                  asked_by(flight->call) + ", and the client did not come back with an answer.");
    start_leg(flight);
  }
}

}  // namespace sallyport::gateway::calls
