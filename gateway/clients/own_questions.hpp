// OwnQuestions: what the gateway itself asks a modern client's user (design section 5) while a call of theirs waits.
// The question is the answer to the request; the same call comes again with the user's answer, and joins the operation
// that waits. On the loop.
//
// Bounds: kMost questions, each for kAnswerWait. An answer serves once, and only for the very question it was given to.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gateway/base/clock.hpp"
#include "gateway/base/signal.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway {

class OwnQuestions {
 public:
  static constexpr std::size_t kMost = 1'000;
  static constexpr std::chrono::minutes kAnswerWait{10};

  explicit OwnQuestions(Entropy& entropy) : entropy_(entropy) {}  // outlives this

  // The question as the answer to a request: hands out the id that comes back with the user's answer. False: the client
  // is gone.
  using Put = std::function<bool(const std::string& id)>;
  static asio::awaitable<ClientReply> ask(std::shared_ptr<OwnQuestions> self, std::string principal,
                                          ServerQuestion question, Put put);
  // The user's answer (raw JSON; empty: none was sent). False: no question of that id waits for one.
  bool answered(const std::string& id, std::string reply_raw);

 private:
  struct One {
    std::string principal, params;  // whom and what was asked
    Deadline until;
    std::shared_ptr<OneShot<ClientReply>> waits;  // null: whoever asked is gone for now
    std::string reply;                            // came while nobody waited
  };
  void forget_old();
  Entropy& entropy_;
  std::map<std::string, One> open_;  // by id
};

}  // namespace sallyport::gateway
