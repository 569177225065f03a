#include "gateway/control/events.hpp"

#include "gateway/control/answers.hpp"
#include "gateway/net/sse.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMostIds = 256;
constexpr std::uint64_t kRetryMs = 2'000;

std::string change(const std::string& id) { return sse_event({"approval", R"({"approval":)" + quote(id) + "}", {}}); }

}  // namespace

void EventStreams::tell(const std::string& approval) {
  for (Listener& listener : listeners_) {
    if (listener.ids.size() < kMostIds)
      listener.ids.insert(approval);
    else if (!listener.ids.contains(approval))
      listener.all = true;
    listener.changed.notify();
  }
}

void EventStreams::tell_all() {
  for (Listener& listener : listeners_) {
    listener.all = true;
    listener.changed.notify();
  }
}

void EventStreams::close() {
  closed_ = true;
  for (Listener& listener : listeners_) listener.changed.notify();
}

asio::awaitable<Status> EventStreams::serve(HttpExchange& exchange, std::function<bool()> may_listen) {
  if (closed_) co_return fail(ErrorCode::unavailable, "the gateway is going down");
  if (listeners_.size() >= most_) co_return fail(ErrorCode::limit, "too many event streams are open");
  const auto entry = listeners_.emplace(listeners_.end(), loop_);
  struct Leave {
    std::list<Listener>& all;
    std::list<Listener>::iterator entry;
    ~Leave() { all.erase(entry); }
  } leave{listeners_, entry};
  co_await run(exchange, std::move(may_listen), *entry);
  co_return Status{};
}

asio::awaitable<void> EventStreams::run(HttpExchange& exchange, std::function<bool()> may_listen, Listener& listener) {
  HttpHeaders headers{{"Content-Type", "text/event-stream"}, {"X-Accel-Buffering", "no"}};
  add_security_headers(headers);
  const Status started = co_await exchange.start_stream(200, std::move(headers));
  if (!started) co_return;
  exchange.on_disconnect([&listener] {
    listener.gone = true;
    listener.changed.notify();
  });
  // Whoever hears this looks at the list once: what happened before it is there, what happens after it is told.
  std::string text = sse_retry(kRetryMs) + sse_event({"ready", "{}", {}});
  while (!listener.gone && !closed_) {
    if (!text.empty()) {
      const Status written = co_await exchange.write_chunk(std::move(text));
      if (!written) co_return;
      text.clear();
    }
    if (listener.ids.empty() && !listener.all) {
      const bool notified = co_await listener.changed.wait(Deadline::after(keep_alive_));
      if (!notified) text = sse_comment("alive");
    }
    if (!may_listen()) break;
    for (const std::string& id : listener.ids) text += change(id);
    if (listener.all) text += sse_event({"ready", "{}", {}});
    listener.ids.clear();
    listener.all = false;
  }
  const Status ended = co_await exchange.end();
  static_cast<void>(ended);
}

}  // namespace sallyport::gateway
