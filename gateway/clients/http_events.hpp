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
// With a session, whose streams can be read on: an event stream begins with an empty event that has an id.
asio::awaitable<void> send_reply(HttpExchange& exchange, std::shared_ptr<HttpReply> reply, AnswerForm form,
                                 EventTimes times, std::shared_ptr<Session> session);
// Reads on the answer to a POST after the event with this number.
asio::awaitable<void> resume_reply(HttpExchange& exchange, std::shared_ptr<Session> session,
                                   std::shared_ptr<PostStream> stream, std::uint64_t after, HttpHeaders headers,
                                   EventTimes times);
// The session's own stream, until the session, the client or the server ends it; `after`: what came since that event
// is told first.
asio::awaitable<void> send_stream(HttpExchange& exchange, std::shared_ptr<Session> session, HttpHeaders headers,
                                  EventTimes times, std::optional<std::uint64_t> after);

}  // namespace sallyport::gateway
