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

constexpr std::uint64_t kRetry = 1'000;  // ms after which a client should read on

std::string priming(EventId id) { return sse_retry(kRetry) + sse_event({.event = {}, .data = {}, .id = to_text(id)}); }

std::string numbered(EventId id, std::string text) {
  return sse_event({.event = {}, .data = std::move(text), .id = to_text(id)});
}

class Reading {
 public:
  explicit Reading(PostStream& stream) : stream_(stream), reader_(stream.begin_reading()) {}
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;
  ~Reading() { stream_.end_reading(reader_); }
  [[nodiscard]] bool still() const { return stream_.is_reader(reader_); }

 private:
  PostStream& stream_;
  unsigned reader_;
};

asio::awaitable<void> read_on(HttpExchange& exchange, std::shared_ptr<Session> session,
                              std::shared_ptr<PostStream> stream, std::uint64_t sent, EventTimes times) {
  const Reading reading(*stream);
  Deadline next = Deadline::after(times.keep_alive);
  while (reading.still()) {
    const bool whole = stream->collect();
    const auto* event = stream->events().after(sent);
    if (event == nullptr && whole) {
      const Status ended = co_await exchange.end();
      // Of bytes for a client that had ended its side nobody knows; it may still come back for them.
      if (!ended || exchange.disconnected()) co_return;
      stream->told(true);
      session->resumption()->close(stream->number());
      co_return;
    }
    if (event == nullptr) {
      const bool notified = co_await stream->changed().wait(next);
      if (notified) continue;
    } else {
      sent = event->first;
    }
    std::string text = event ? numbered({stream->number(), sent}, event->second) : sse_comment("waiting");
    const Status written = co_await exchange.write_chunk(std::move(text));
    if (!written) co_return;
    next = Deadline::after(times.keep_alive);
  }
}

// Until there is something to say or it takes too long. True: the answer is there, and nothing before it.
asio::awaitable<bool> wait_for_first(HttpReply& reply, Millis wait) {
  const Deadline deadline = Deadline::after(wait);
  while (!reply.has_note() && !reply.finished()) {
    const bool notified = co_await reply.changed().wait(deadline);
    if (!notified) co_return false;
  }
  co_return !reply.has_note();
}

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
    // The one error that has a status of its own wherever it arises (2026-07-28).
    if (finished.error == mcp::code::kMissingClientCapability) response.status = 400;
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
                                 EventTimes times, std::shared_ptr<Session> session) {
  exchange.on_disconnect([reply] { reply->client_left(); });
  if (session && form.events) {
    const bool at_once = co_await wait_for_first(*reply, times.stream_after);
    if ((!at_once || !form.json) && !exchange.disconnected()) {
      const std::shared_ptr<PostStream> stream = session->resumption()->open(reply);
      Status begun = co_await begin_events(exchange, std::move(form.headers));
      std::string first = priming({stream->number(), 0});
      if (begun) begun = co_await exchange.write_chunk(std::move(first));
      if (begun) {
        co_await read_on(exchange, std::move(session), stream, 0, times);
      } else {
        session->resumption()->close(stream->number());  // its client knows of no id to come back with
      }
      co_return;
    }
    session = nullptr;
  }
  const Abandoning abandoning(*reply);
  const bool there = co_await send_events_until_finished(exchange, *reply, form, times);
  if (!there) co_return;
  Finished finished = reply->take();
  const Status sent = co_await send_answer(exchange, finished, form);
  // Bytes that the transport took for a client that had ended its side may have reached nobody.
  finished.delivery.done(sent && !finished.cancelled && !reply->left());
}

asio::awaitable<void> resume_reply(HttpExchange& exchange, std::shared_ptr<Session> session,
                                   std::shared_ptr<PostStream> stream, std::uint64_t after, HttpHeaders headers,
                                   EventTimes times) {
  exchange.on_disconnect([] {});
  const Status begun = co_await begin_events(exchange, std::move(headers));
  if (begun) co_await read_on(exchange, std::move(session), std::move(stream), after, times);
}

asio::awaitable<void> send_stream(HttpExchange& exchange, std::shared_ptr<Session> session, HttpHeaders headers,
                                  EventTimes times, std::optional<std::uint64_t> after) {
  const auto stream = std::make_shared<Outbox>(exchange.loop());
  Resumption* const resumption = session->resumption();
  const std::uint64_t before = after.value_or(resumption == nullptr ? 0 : resumption->own().last());
  for (std::uint64_t number = before; resumption != nullptr;) {
    const auto* event = resumption->own().after(number);
    if (event == nullptr) break;
    number = event->first;
    stream->note(event->second, false, number);
  }
  const Attached attached(*session, stream);
  exchange.on_disconnect([stream] { stream->abandon(); });
  Status ok = co_await begin_events(exchange, std::move(headers));
  std::string first = resumption == nullptr ? std::string() : priming({0, before});
  if (ok && !first.empty()) ok = co_await exchange.write_chunk(std::move(first));
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
    std::string event = !note              ? sse_comment("alive")
                        : note->number > 0 ? numbered({0, note->number}, std::move(note->text))
                                           : sse_data(note->text);
    ok = co_await exchange.write_chunk(std::move(event));
    next = Deadline::after(times.keep_alive);
  }
  if (ok && !stream->abandoned()) ok = co_await exchange.end();
}

}  // namespace sallyport::gateway
