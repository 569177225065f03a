// An event stream to a client: the answer to a POST that takes longer, or the GET stream of a session. On the loop.
#pragma once

#include <memory>
#include <string>

#include "gateway/clients/http_reply.hpp"
#include "gateway/clients/session.hpp"
#include "gateway/net/http_server.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

struct EventTimes {
  Millis stream_after{5'000};
  Millis keep_alive{15'000};
};

// What of the request's head decides how it is answered.
struct AnswerForm {
  bool json = true;     // the client takes application/json
  bool events = true;   // and text/event-stream
  HttpHeaders headers;  // to add to the answer
};

// Waits for the reply to be finished and writes it, with the notes before it. The promise of its delivery is kept here.
asio::awaitable<void> send_reply(HttpExchange& exchange, std::shared_ptr<HttpReply> reply, AnswerForm form,
                                 EventTimes times);
// Until the session, the client or the server ends it.
asio::awaitable<void> send_stream(HttpExchange& exchange, std::shared_ptr<Session> session, HttpHeaders headers,
                                  EventTimes times);

}  // namespace sallyport::gateway
