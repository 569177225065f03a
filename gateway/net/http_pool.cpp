#include "gateway/net/http_pool.hpp"

#include <fmt/format.h>

#include <utility>

#include "gateway/net/connect.hpp"

namespace sallyport::gateway {
namespace {

std::unexpected<Error> not_sent(ErrorCode code, std::string message) {
  return fail(code, std::move(message), ErrorSource::server, RetryClass::not_sent);
}

}  // namespace

HttpPool::HttpPool(asio::any_io_executor loop, HttpClientOptions options)
    : loop_(loop), options_(std::move(options)), tasks_(std::move(loop)) {}

HttpPool::Lease& HttpPool::Lease::operator=(Lease&& other) noexcept {
  if (this != &other) {
    release();
    connection = std::move(other.connection);
    pool_ = std::move(other.pool_);
    origin_ = std::move(other.origin_);
  }
  return *this;
}

void HttpPool::Lease::release() {
  if (!origin_) return;
  connection.reset();
  --origin_->open;
  std::exchange(origin_, nullptr)->freed.notify();
}

void HttpPool::Lease::keep() {
  if (!origin_ || !connection || origin_->idle.size() >= pool_->options_.idle_connections) return;
  connection->idle_since = Deadline::Clock::now();
  origin_->idle.push_front(std::move(connection));
  const std::shared_ptr<Origin> origin = std::exchange(origin_, nullptr);
  origin->freed.notify();
  if (std::exchange(origin->reaping, true)) return;
  pool_->tasks_.spawn("http_client.reap", reap(origin, pool_->options_.idle_keep));
}

// Closes idle connections in time, so that those which the server has ended do not stay half-closed.
asio::awaitable<void> HttpPool::reap(std::shared_ptr<Origin> origin, Millis keep) {
  while (!origin->idle.empty()) {
    const Deadline::Clock::time_point until = origin->idle.back()->idle_since + keep;
    if (Deadline::Clock::now() < until) {
      co_await origin->cleared.wait(Deadline::at(until));
      continue;
    }
    origin->idle.pop_back();
    --origin->open;
    origin->freed.notify();
  }
  origin->reaping = false;
}

std::shared_ptr<HttpPool::Origin> HttpPool::origin_of(const std::string& name) {
  if (const auto found = origins_.find(name); found != origins_.end()) return found->second;
  if (origins_.size() >= options_.origins) {
    // What is not in use now goes, with its idle connections.
    std::erase_if(origins_, [](const auto& entry) {
      Origin& origin = *entry.second;
      const bool unused = origin.waiting == 0 && origin.open == origin.idle.size();
      if (unused) {
        origin.open = 0;
        origin.idle.clear();
        origin.cleared.notify();
      }
      return unused;
    });
    if (origins_.size() >= options_.origins) return nullptr;
  }
  return origins_.emplace(name, std::make_shared<Origin>(loop_)).first->second;
}

void HttpPool::close_idle() {
  for (auto& [name, origin] : origins_) {
    origin->open -= origin->idle.size();
    origin->idle.clear();
    origin->freed.notify();
    origin->cleared.notify();
  }
}

asio::awaitable<Status> HttpPool::connect(Url url, Deadline deadline, HttpPooled& out) {
  if (url.scheme == Url::Scheme::https && !options_.tls && !options_.connect) {
    Result<std::shared_ptr<TlsClientContext>> loaded = TlsClientContext::load();
    if (!loaded) co_return not_sent(loaded.error().code, loaded.error().message);
    options_.tls = std::move(*loaded);
  }
  deadline = earlier(deadline, Deadline::after(options_.connect_wait));
  asio::awaitable<Result<std::unique_ptr<ByteStream>>> connecting =
      options_.connect ? options_.connect(url, deadline) : connect_url(loop_, url, options_.tls, deadline);
  Result<std::unique_ptr<ByteStream>> stream = co_await std::move(connecting);
  if (!stream) co_return not_sent(stream.error().code, stream.error().message);
  if (options_.verify_peer && url.scheme == Url::Scheme::https) {
    const TlsPeer* peer = (*stream)->tls_peer();
    const Status verified = peer != nullptr ? options_.verify_peer(*peer) : fail(ErrorCode::internal, "no certificate");
    if (!verified) {
      co_return not_sent(verified.error().code, fmt::format("{}: {}", url.origin(), verified.error().message));
    }
  }
  out.stream = std::move(*stream);
  co_return Status{};
}

asio::awaitable<Result<HttpPool::Lease>> HttpPool::lease(Url url, Deadline deadline) {
  const std::shared_ptr<HttpPool> self = shared_from_this();  // the client may go while we wait
  const std::shared_ptr<Origin> origin = origin_of(url.origin());
  if (!origin) co_return not_sent(ErrorCode::limit, "too many servers are in use at once");
  for (;;) {
    while (!origin->idle.empty()) {
      Lease lease(self, origin);
      lease.connection = std::move(origin->idle.front());
      origin->idle.pop_front();
      const auto age = Deadline::Clock::now() - lease.connection->idle_since;
      if (age < options_.idle_keep && lease.connection->stream->quiet()) co_return lease;
    }
    if (origin->open < options_.connections) break;
    ++origin->waiting;
    const bool freed = co_await origin->freed.wait(deadline);
    --origin->waiting;
    if (!freed) co_return not_sent(ErrorCode::limit, url.origin() + ": no connection became free in time");
  }
  ++origin->open;
  Lease lease(self, origin);
  lease.connection = std::make_unique<HttpPooled>();
  HttpPooled& connection = *lease.connection;
  const Status connected = co_await connect(std::move(url), deadline, connection);
  if (!connected) co_return fail(connected.error());
  co_return lease;
}

}  // namespace sallyport::gateway
