// The client's own user answers an ask, where a rule says `sessionUser` (design section 5, promise 6): put to them by
// elicitation while their call waits, with the whole page in words. It proves that the client said yes, no more, so it
// never serves for what is destructive, `money`, `credentials` or wants a quorum. A page too long for that is not cut:
// where the client can open an address, it leads to the console; a person answers there.
#include <algorithm>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/base/log.hpp"
#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/last_call.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace {

namespace bj = boost::json;

constexpr std::size_t kLongestMessage = 16U << 10;

// Every member of the page, a line or block each: what is said first is what matters first, and nothing is left out.
std::string in_words(const bj::object& page) {
  const auto text = [&](std::string_view name) {
    const auto* member = page.if_contains(name);
    return member != nullptr && member->is_string() ? std::string(member->get_string()) : std::string();
  };
  const std::string says = text("says");
  std::string out = fmt::format("{}\n\n{} of server {} will run with:\n", says.empty() ? "May this run?" : says,
                                text("tool"), text("server"));
  for (const bj::value& line : page.at("arguments").as_array()) out.append(line.get_string()).append("\n");
  for (const auto& [name, value] : page) {
    if (name == "says" || name == "tool" || name == "server" || name == "arguments" || name == "salt") continue;
    out += fmt::format("\n{}: {}", std::string_view(name),
                       value.is_string() ? std::string(value.get_string()) : visible(bj::serialize(value)));
  }
  return out;
}

std::string form_params(const std::string& message) {
  return fmt::format(
      R"({{"mode":"form","message":{},"requestedSchema":{{"type":"object","properties":{{"approve":{{"type":"boolean",)"
      R"("title":"Let it run","description":"Exactly this call, once."}}}},"required":["approve"]}}}})",
      quote(message));
}

std::string url_params(const std::string& console, const std::string& approval) {
  return fmt::format(R"({{"mode":"url","message":{},"url":{},"elicitationId":{}}})",
                     quote("A call of yours waits for approval. Its page shows what would run; a person who may answer "
                           "signs in there."),
                     quote(console + "/#/asks/" + approval), quote(approval));
}

// What the answer says: nullopt is neither yes nor no (dismissed, or not understood), and the ask goes on waiting.
std::optional<bool> answer_in(const ClientReply& reply) {
  const auto document = json::Document::parse(reply.result, {.bytes = reply.result.size(), .depth = 64});
  if (reply.error || !document || document->root().ambiguity()) return std::nullopt;
  const json::Value action = document->root().find("action");
  if (action.equals("decline")) return false;
  const json::Value approve = document->root().at("/content/approve");
  if (!action.equals("accept") || !approve.is_bool()) return std::nullopt;
  return approve.boolean();
}

}  // namespace

bool Calls::takes_session_user(const Judgement& judged) {
  // Whether an earlier write may have run is nothing that the client's own side can settle.
  if (!judged.unknowns.empty()) return false;
  return std::ranges::any_of(judged.decision.asks, [&](const ApprovalTerms& terms) {
    return terms.session_user && trust::weaker_form_allowed(judged.effect.effective, terms);
  });
}

// Puts the ask to everybody who waits and was not asked yet, one in each session.
void Calls::ask_session_users(const FlightPtr& flight) {
  if (!takes_session_user(flight->call.judged)) return;
  for (Waiter* waiter : flight->waiters) {
    if (waiter->question || !(waiter->asks_by_form || waiter->asks_by_url)) continue;
    const bool asked = std::ranges::any_of(
        flight->waiters, [&](const Waiter* other) { return other->question && other->session == waiter->session; });
    if (asked) continue;
    waiter->question = std::make_shared<Cancel>();
    const ToAsk whom{waiter->channel, waiter->question, waiter->asks_by_form, waiter->asks_by_url};
    tasks_.spawn("ask the user of " + waiter->session, ask_session_user(flight, whom));
  }
}

asio::awaitable<void> Calls::ask_session_user(FlightPtr flight, ToAsk whom) {
  const std::string approval = flight->call.approval;
  std::string page, shown;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    const auto row = tx.approval(approval);
    if (!row) return {};
    shown = row->shown;
    page = whole_view(tx, *row);
    return {};
  });
  const auto waits = waiting_.find(approval);
  if (!read || page.empty() || waits == waiting_.end() || whom.question->reason()) co_return;
  const std::string message = in_words(bj::parse(page).as_object());
  const bool by_form = whom.by_form && message.size() <= kLongestMessage;
  if (!by_form && (!whom.by_url || options_.console.empty())) co_return;
  ServerQuestion asked;
  asked.method = "elicitation/create";
  asked.document = parsed(by_form ? form_params(message) : url_params(options_.console, approval));
  if (!asked.document) co_return;
  asked.params = asked.document->root();
  asked.deadline = waits->second.until;
  asked.cancel = whom.question;
  const ClientReply reply = co_await whom.channel->ask(std::move(asked));
  if (!by_form || whom.question->reason()) co_return;
  const auto yes = answer_in(reply);
  log::info("session_user.answered", {{"approval", approval}, {"answer", !yes ? "none" : *yes ? "yes" : "no"}});
  if (!yes) co_return;
  const trust::event::SessionUserAnswered answered{*yes, shown};
  static_cast<void>(co_await change_ask(flight, approval, answered));  // refused: there was an end before it
  approval_changed(approval);
}

void Calls::withdraw_questions(const FlightPtr& flight) {
  for (Waiter* waiter : flight->waiters) {
    if (waiter->question) waiter->question->cancel(CancelReason::client);
    waiter->question.reset();
  }
}

}  // namespace sallyport::gateway::calls
