#include "gateway/clients/http_events.hpp"

#include "gateway/net/sse.hpp"

namespace sallyport::gateway {
namespace {

asio::awaitable<Status> begin_events(HttpExchange& exchange, HttpHeaders headers) {
  headers.set("Content-Type", "text/event-stream");
  headers.set("Cache-Control", "no-cache, no-transform");
  headers.set("X-Accel-Buffering", "no");  // a proxy that collects would hold events back
  co_return co_await exchange.start_stream(200, std::move(headers));
}

// Ends the wait for a reply however the handler goes.
class Abandoning {
 public:
  explicit Abandoning(HttpReply& reply) : reply_(reply) {}
  Abandoning(const Abandoning&) = delete;
  Abandoning& operator=(const Abandoning&) = delete;
  ~Abandoning() { reply_.abandon(); }

 private:
  HttpReply& reply_;
};

class Attached {
 public:
  Attached(Session& session, const std::shared_ptr<Outbox>& stream) : session_(session), stream_(stream) {
    session.attach(stream);
  }
  Attached(const Attached&) = delete;
  Attached& operator=(const Attached&) = delete;
  ~Attached() {
    stream_->abandon();
    session_.detach(stream_);
  }

 private:
  Session& session_;
  const std::shared_ptr<Outbox>& stream_;
};

// One note, or a sign of life when there was none in time. False: the client is gone.
asio::awaitable<bool> send_events_until_finished(HttpExchange& exchange, HttpReply& reply, AnswerForm& form,
                                                 const EventTimes times) {
  Deadline next = form.events ? Deadline::after(times.stream_after) : Deadline::never();
  for (;;) {
    std::optional<Outbox::Item> note = reply.take_note();
    if (!note && reply.finished()) co_return true;
    if (!note) {
      const bool notified = co_await reply.changed().wait(next);
      if (notified) continue;
    }
    if (!exchange.started()) {
      const Status begun = co_await begin_events(exchange, std::move(form.headers));
      if (!begun) co_return false;
    }
    std::string event = note ? sse_data(note->text) : sse_comment("waiting");
    const Status written = co_await exchange.write_chunk(std::move(event));
    if (!written) co_return false;
    next = Deadline::after(times.keep_alive);
  }
}

asio::awaitable<Status> send_answer(HttpExchange& exchange, Finished& finished, AnswerForm& form) {
  if (!exchange.started() && form.json && !(finished.cancelled && form.events)) {
    HttpResponse response;
    response.headers = std::move(form.headers);
    response.headers.set("Content-Type", "application/json");
    response.body = std::move(finished.message);
    co_return co_await exchange.respond(std::move(response));
  }
  if (!exchange.started()) {
    const Status begun = co_await begin_events(exchange, std::move(form.headers));
    if (!begun) co_return begun;
  }
  if (!finished.cancelled) {
    std::string event = sse_data(finished.message);
    finished.message = {};
    const Status written = co_await exchange.write_chunk(std::move(event));
    if (!written) co_return written;
  }
  co_return co_await exchange.end();
}

}  // namespace

asio::awaitable<void> send_reply(HttpExchange& exchange, std::shared_ptr<HttpReply> reply, AnswerForm form,
                                 EventTimes times) {
  const Abandoning abandoning(*reply);
  exchange.on_disconnect([reply] { reply->client_left(); });
  const bool there = co_await send_events_until_finished(exchange, *reply, form, times);
  if (!there) co_return;
  Finished finished = reply->take();
  const Status sent = co_await send_answer(exchange, finished, form);
  // Bytes that the transport took for a client that had ended its side may have reached nobody.
  finished.delivery.done(sent && !finished.cancelled && !reply->left());
}

asio::awaitable<void> send_stream(HttpExchange& exchange, std::shared_ptr<Session> session, HttpHeaders headers,
                                  EventTimes times) {
  const auto stream = std::make_shared<Outbox>(exchange.loop());
  const Attached attached(*session, stream);
  exchange.on_disconnect([stream] { stream->abandon(); });
  Status ok = co_await begin_events(exchange, std::move(headers));
  // A comment at once: some clients take a stream for open only when its first bytes are there.
  if (ok) ok = co_await exchange.write_chunk(sse_comment("open"));
  Deadline next = Deadline::after(times.keep_alive);
  while (ok && !stream->abandoned()) {
    std::optional<Outbox::Item> note = stream->take();
    if (!note && stream->closed()) break;
    if (!note) {
      const bool notified = co_await stream->changed().wait(next);
      if (notified) continue;
    }
    std::string event = note ? sse_data(note->text) : sse_comment("alive");
    ok = co_await exchange.write_chunk(std::move(event));
    next = Deadline::after(times.keep_alive);
  }
  if (ok && !stream->abandoned()) ok = co_await exchange.end();
}

}  // namespace sallyport::gateway
