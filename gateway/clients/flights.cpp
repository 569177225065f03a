#include "gateway/clients/flights.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <vector>

#include "gateway/base/log.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMaxIdBytes = 512;  // as parse_incoming has it

}  // namespace

// One open request. It is the channel that the Front gets.
class Flights::Flight final : public ClientChannel {
 public:
  Flight(std::string id_key, std::string_view token, Start start, std::shared_ptr<Reply> reply)
      : key(std::move(id_key)),
        id(token),
        keep(std::move(start.keep)),
        alive_(std::move(start.alive)),
        admits_(std::move(start.admits)),
        ask_(std::move(start.ask)),
        reply_(std::move(reply)),
        share_(std::move(start.share)) {}

  Flight(const Flight&) = delete;
  Flight& operator=(const Flight&) = delete;
  ~Flight() override;

  void notify(std::string_view method, std::string_view params_raw) override {
    if (reply_ == nullptr || cancelled || !reply_->open()) return;
    if (admits_ && !admits_(method, params_raw)) return;
    reply_->note(mcp::notification(method, params_raw), method == "notifications/progress");
  }
  asio::awaitable<ClientReply> ask(ServerQuestion question) override {
    if (!ask_ || reply_ == nullptr || cancelled) return ClientChannel::ask(std::move(question));
    return ask_(std::move(question), reply_);
  }
  [[nodiscard]] bool open() const override { return reply_ != nullptr && !cancelled && reply_->open(); }

  void finish(Answer answer) {
    const std::shared_ptr<Reply> reply = std::exchange(reply_, nullptr);
    if (reply == nullptr) return;
    Finished finished;
    finished.message = answer.error ? mcp::error_response(id, *answer.error) : mcp::response(id, answer.result);
    finished.cancelled = cancelled;
    finished.error = answer.error ? answer.error->code : 0;
    finished.delivery = Delivery(std::move(answer.delivered), alive_);
    if (share_ && !cancelled) fit(finished);
    reply->finish(std::move(finished));
  }

  // Counts it among what this principal holds open. False: it does not fit.
  bool hold(const Inbound& inbound) {
    if (!share_ || !inbound.document) return true;
    const json::Value root = inbound.document->root();
    const std::size_t parts = root.is_array() ? std::max<std::size_t>(1, root.size()) : 1;
    held_ = Share::hold_request(share_, inbound.document->memory() / parts);
    return held_ != nullptr;
  }

  const std::string key;
  const std::string id;
  bool cancelled = false;  // by the client, which wants no answer any more
  const std::shared_ptr<Cancel> cancel = std::make_shared<Cancel>();
  Flights* table = nullptr;          // null once the table is gone
  const std::shared_ptr<void> keep;  // the owner of the table

 private:
  // An answer that its principal has no room for is not given: what the call did is on record, and stays undelivered.
  void fit(Finished& finished) const {
    Share::Held held = Share::hold_answer(share_, finished.message.size());
    if (held) return finished.delivery.hold(std::move(held));
    log::warning("client.answer_left_out", {{"id", id}, {"bytes", finished.message.size()}});
    const mcp::RpcError error{mcp::code::kRefused,
                              "this client has too many answers unread, so that this one is not given: read them, "
                              "then ask again",
                              R"({"code":"LIMIT_REACHED","outcome":"unknown","retry":"later"})"};
    finished = {.message = mcp::error_response(id, error), .error = error.code};
  }

  std::weak_ptr<const void> alive_;
  Admits admits_;
  Ask ask_;
  std::shared_ptr<Reply> reply_;  // null once finished
  std::shared_ptr<Share> share_;
  Share::Held held_;
};

Flights::Flight::~Flight() {
  if (table != nullptr) table->end(*this);
}

Flights::~Flights() {
  for (Flight* flight : open_) flight->table = nullptr;
}

void Flights::start(Start start, std::string_view id, Inbound inbound, std::shared_ptr<Reply> reply) {
  std::string key = mcp::id_key(id);
  const std::shared_ptr<Reply> ends_with = start.ends_with_client ? reply : nullptr;
  TaskGroup& tasks = start.tasks;
  Front& front = start.front;
  auto flight = std::make_shared<Flight>(std::move(key), id, std::move(start), std::move(reply));
  if (rules_.unique_ids) {
    for (const Flight* other : open_) {
      if (other->key != flight->key) continue;
      flight->finish(Answer::fail(mcp::code::kInvalidRequest,
                                  "a request with this id is still open: every open request needs its own id"));
      return;
    }
  }
  if (open_.size() >= rules_.bound) {
    front.over_limit(inbound);
    flight->finish(Answer::fail(mcp::code::kRefused, "too many requests of this session are open: try again later",
                                R"({"code":"LIMIT_REACHED","outcome":"none","retry":"later"})"));
    return;
  }
  if (!flight->hold(inbound)) {
    front.over_limit(inbound);
    flight->finish(Answer::fail(mcp::code::kRefused, "too much of this client is open at once: try again later",
                                R"({"code":"LIMIT_REACHED","outcome":"none","retry":"later"})"));
    return;
  }
  flight->table = this;
  open_.push_back(flight.get());
  if (ends_with) {
    ends_with->on_gone([weak = std::weak_ptr(flight->cancel)] {
      if (const auto cancel = weak.lock()) cancel->cancel(CancelReason::disconnect);
    });
  }
  inbound.channel = flight.get();
  inbound.cancel = flight->cancel;
  std::string name = "request." + inbound.method.substr(0, 64);
  tasks.spawn(std::move(name), run(std::move(flight), front, std::move(inbound)));
}

asio::awaitable<void> Flights::run(std::shared_ptr<Flight> flight, Front& front, Inbound inbound) {
  Answer answer;
  try {
    answer = co_await front.handle(std::move(inbound));
  } catch (const boost::system::system_error& error) {
    const bool stopped = error.code() == asio::error::operation_aborted;  // the task was cancelled
    if (!stopped) log::error("request.failed", {{"reason", error.what()}});
    answer = Answer::fail(mcp::code::kInternalError, stopped ? "the gateway is shutting down" : "internal error");
  } catch (const std::exception& error) {
    log::error("request.failed", {{"reason", error.what()}});
    answer = Answer::fail(mcp::code::kInternalError, "internal error");
  }
  flight->finish(std::move(answer));
}

void Flights::end(Flight& flight) {
  open_.remove(&flight);
  if (!open_.empty() || !on_idle_) return;
  const auto callback = on_idle_;  // it may replace itself
  callback();
}

bool Flights::cancel(json::Value id) {
  if ((!id.is_string() && !id.is_number()) || id.raw().size() > kMaxIdBytes) return false;
  const std::string key = mcp::id_key(id.raw());
  Flight* found = nullptr;
  for (Flight* flight : open_) {
    if (flight->key != key) continue;
    if (found != nullptr) {
      log::info("cancel.ambiguous", {{"id", found->id}});
      return false;
    }
    found = flight;
  }
  if (found == nullptr) return false;
  found->cancelled = true;
  const std::shared_ptr<Cancel> cancel = found->cancel;
  cancel->cancel(CancelReason::client);
  return true;
}

void Flights::cancel_all(CancelReason reason) {
  std::vector<std::shared_ptr<Cancel>> open;  // cancelling may end them
  for (const Flight* flight : open_) open.push_back(flight->cancel);
  for (const auto& cancel : open) cancel->cancel(reason);
}

}  // namespace sallyport::gateway
