// Flights: the open requests of one client, and how one of them runs: to the Front and back to its Reply. Nothing here
// knows an era; a codec decides what is a request and hands it over. On the loop.
//
// Ids: answers carry the very token that came; the table compares what it means (`"a"` and `"\u0061"` are one id, 1 and
// "1" are two). Where answers are told apart by id alone (stdio), an id that is in flight is refused; where each
// request has its own exchange (HTTP), it is not, and a cancel that could mean two requests means none.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/task_group.hpp"
#include "gateway/clients/reply.hpp"
#include "gateway/clients/share.hpp"
#include "gateway/ports/inbound.hpp"

namespace sallyport::gateway {

class Flights {
 public:
  // Whether a notification may go to the client now (log levels).
  using Admits = std::function<bool(std::string_view method, std::string_view params_raw)>;
  // Puts a question to the client, on the stream of this reply if it can.
  using Ask = std::function<asio::awaitable<ClientReply>(ServerQuestion question, std::shared_ptr<Reply> reply)>;
  struct Rules {
    std::size_t bound = 320;
    bool unique_ids = true;
  };

  explicit Flights(Rules rules) : rules_(rules) {}
  Flights(const Flights&) = delete;
  Flights& operator=(const Flights&) = delete;
  ~Flights();

  // What is needed to run one; `keep` is held until it ended (the session that owns this table).
  struct Start {
    TaskGroup& tasks;
    Front& front;
    std::weak_ptr<const void> alive;  // see Delivery
    std::shared_ptr<void> keep;
    Admits admits;
    Ask ask;
    bool ends_with_client = false;           // a client that goes away cancels it
    std::shared_ptr<Share> share = nullptr;  // what the request and its answer are counted in; null: in nothing
  };
  // `id` is a raw token that parse_incoming let pass; inbound.channel and inbound.cancel are set here. A refusal is
  // answered on the reply, like everything else.
  void start(Start start, std::string_view id, Inbound inbound, std::shared_ptr<Reply> reply);

  // True: exactly one open request has this id, and it was told. Its answer is not given to the client any more.
  bool cancel(json::Value id);
  void cancel_all(CancelReason reason);
  [[nodiscard]] std::size_t count() const { return open_.size(); }
  void on_idle(std::function<void()> callback) { on_idle_ = std::move(callback); }  // the last one ended

 private:
  class Flight;
  static asio::awaitable<void> run(std::shared_ptr<Flight> flight, Front& front, Inbound inbound);
  void end(Flight& flight);
  Rules rules_;
  std::list<Flight*> open_;  // each owned by the frame that runs it
  std::function<void()> on_idle_;
};

}  // namespace sallyport::gateway
