#include "gateway/clients/stdio_front.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <list>

#include "gateway/base/log.hpp"
#include "gateway/clients/batch.hpp"
#include "gateway/clients/hello.hpp"
#include "gateway/clients/modern_head.hpp"
#include "gateway/net/lines.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kWritePiece = 64U << 10;

// A line holds no line end. In JSON text a raw one is white space, wherever it stands.
std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  std::ranges::replace(text, '\r', ' ');
  return text += '\n';
}

class LineReply final : public Reply {
 public:
  explicit LineReply(std::shared_ptr<Outbox> outbox) : outbox_(std::move(outbox)) {}
  void note(std::string message, bool droppable) override { outbox_->note(std::move(message), droppable); }
  bool ask(std::string message) override { return outbox_->question(std::move(message)); }
  [[nodiscard]] bool open() const override { return !outbox_->closed(); }
  void finish(Finished finished) override {
    // After its cancel a strict client takes an answer for a fault of ours.
    if (!finished.cancelled) outbox_->answer(std::move(finished.message), std::move(finished.delivery));
  }

 private:
  std::shared_ptr<Outbox> outbox_;
};

// One bridge. Shared by its reader, its writer and the replies that are open.
struct Connection {
  Connection(std::unique_ptr<ByteStream> from, const asio::any_io_executor& loop, const LimitSettings& limits)
      : stream(std::move(from)),
        lines(*stream, limits.message_bytes),
        outbox(std::make_shared<Outbox>(loop, OutboxBounds{.bytes = 2 * limits.result_bytes})),
        changed(loop) {}

  void answer(std::string text) { outbox->answer(std::move(text), {}); }

  std::unique_ptr<ByteStream> stream;
  LineReader lines;
  std::shared_ptr<Outbox> outbox;
  std::shared_ptr<Session> session;
  Signal changed;        // a request ended, or the writer did
  bool writing = false;  // its task is alive
};

asio::awaitable<Status> write_pieces(ByteStream& stream, std::string text, Millis wait) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const Status written = co_await stream.write_all(rest.substr(0, kWritePiece), Deadline::after(wait));
    if (!written) co_return written;
    rest.remove_prefix(std::min(kWritePiece, rest.size()));
  }
  co_return Status{};
}

class Writing {
 public:
  explicit Writing(Connection& connection) : connection_(connection) { connection.writing = true; }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;
  ~Writing() {
    connection_.writing = false;
    connection_.outbox->abandon();
    connection_.stream->close();
    connection_.changed.notify();
  }

 private:
  Connection& connection_;
};

// Ends with the outbox (closed and empty), or when the client does not take what is written; the connection ends with
// it.
asio::awaitable<void> write_lines(std::shared_ptr<Connection> connection, Millis wait) {
  const Writing writing(*connection);
  Outbox& outbox = *connection->outbox;
  while (!outbox.abandoned()) {
    std::optional<Outbox::Item> item = outbox.take();
    if (!item && outbox.closed()) co_return;
    if (!item) {
      co_await outbox.changed().wait(Deadline::never());
      continue;
    }
    std::string line = one_line(std::move(item->text));
    const Status written = co_await write_pieces(*connection->stream, std::move(line), wait);
    item->delivery.done(written.has_value());
    if (written) continue;
    log::debug("stdio.write_failed", {{"peer", connection->stream->peer()}, {"reason", written.error().message}});
    break;
  }
  if (outbox.overflowed()) log::warning("stdio.client_reads_too_slowly", {{"peer", connection->stream->peer()}});
}

}  // namespace

struct StdioFront::State {
  State(asio::any_io_executor executor, Sessions& all, std::shared_ptr<const Authenticator> who,
        StdioFrontOptions given)
      : loop(executor),
        sessions(all),
        authenticator(std::move(who)),
        options(std::move(given)),
        tasks(std::move(executor)) {}

  static asio::awaitable<void> serve(std::shared_ptr<State> self, std::shared_ptr<Connection> connection);
  asio::awaitable<Status> greet(Connection& connection);
  Result<std::shared_ptr<Session>> open(const Connection& connection, const Hello& hello);
  asio::awaitable<void> read_lines(Connection& connection);
  void receive(Connection& connection, std::string line);
  asio::awaitable<void> finish(Connection& connection);
  void end_session(Connection& connection);
  static asio::awaitable<bool> wait_quiet(Connection& connection, Deadline deadline);

  asio::any_io_executor loop;
  Sessions& sessions;
  std::shared_ptr<const Authenticator> authenticator;
  StdioFrontOptions options;
  std::list<Connection*> connections;
  bool draining = false;
  TaskGroup tasks;  // last: they use the rest
};

namespace {

// Lists a connection while it is served, and ends its session however that goes.
class Served {
 public:
  Served(std::list<Connection*>& all, std::function<void()> end_session, Connection& connection)
      : all_(all),
        end_session_(std::move(end_session)),
        connection_(connection),
        place_(all.insert(all.end(), &connection)) {}
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() {
    all_.erase(place_);
    connection_.outbox->abandon();
    connection_.stream->close();
    end_session_();
  }

 private:
  std::list<Connection*>& all_;
  std::function<void()> end_session_;
  Connection& connection_;
  std::list<Connection*>::iterator place_;
};

}  // namespace

asio::awaitable<void> StdioFront::State::serve(std::shared_ptr<State> self, std::shared_ptr<Connection> connection) {
  State& state = *self;
  const Served served(state.connections, [&] { state.end_session(*connection); }, *connection);
  const Status greeted = co_await state.greet(*connection);
  std::string answer = hello_answer(greeted) + "\n";
  const Deadline deadline = Deadline::after(state.options.write_wait);
  const Status written = co_await connection->stream->write_all(answer, deadline);
  if (!greeted) {
    log::info("stdio.refused", {{"peer", connection->stream->peer()}, {"reason", greeted.error().message}});
  }
  if (!greeted || !written) co_return;
  connection->session->attach(connection->outbox);
  connection->session->on_idle([raw = connection.get()] { raw->changed.notify(); });
  connection->writing = true;
  state.tasks.spawn("stdio.writer", write_lines(connection, state.options.write_wait));
  co_await state.read_lines(*connection);
  co_await state.finish(*connection);
}

void StdioFront::State::end_session(Connection& connection) {
  const std::shared_ptr<Session> session = std::exchange(connection.session, nullptr);
  if (!session) return;
  session->on_idle({});
  session->detach(connection.outbox);
  sessions.close(session, CancelReason::disconnect);
}

asio::awaitable<Status> StdioFront::State::greet(Connection& connection) {
  if (connections.size() > options.connections)
    co_return fail(ErrorCode::limit, "too many connections: try again later");
  Result<std::optional<std::string>> line = co_await connection.lines.next(Deadline::after(options.hello_wait));
  if (!line) co_return fail_in("no hello", line.error());
  if (!*line) co_return fail(ErrorCode::protocol, "the connection ended without a hello");
  Result<Hello> hello = parse_hello(std::move(**line));
  if (!hello) co_return fail(hello.error());
  Result<std::shared_ptr<Session>> session = open(connection, *hello);
  if (!session) co_return fail(session.error());
  connection.session = std::move(*session);
  co_return Status{};
}

Result<std::shared_ptr<Session>> StdioFront::State::open(const Connection& connection, const Hello& hello) {
  if (draining) return fail(ErrorCode::unavailable, "the gateway is shutting down");
  const Result<Identity> identity = hello.token ? authenticator->by_token(hello.token->reveal())
                                                : authenticator->by_peer(connection.stream->peer_uid());
  if (!identity) return fail(identity.error());
  if (!hello.server.empty() && !(options.knows_server && options.knows_server(hello.server))) {
    return fail(ErrorCode::not_found, "no server `" + hello.server + "` is configured", ErrorSource::client);
  }
  return sessions.open(*identity, Mount{hello.server}, Sessions::Transport::stdio);
}

asio::awaitable<void> StdioFront::State::read_lines(Connection& connection) {
  while (connection.writing) {
    if (connection.outbox->bytes() > options.high_water) {
      co_await connection.outbox->changed().wait(Deadline::never());
      continue;
    }
    Result<std::optional<std::string>> line = co_await connection.lines.next(Deadline::never());
    if (line && !*line) co_return;
    if (line) {
      if ((*line)->empty()) continue;
      if (!connection.session->initialized()) co_await sessions.prepare(connection.session->context().mount);
      receive(connection, std::move(**line));
      // Lines that came in one piece: what they asked for gets its turn before the next, so that the bound above holds.
      co_await asio::post(loop, asio::use_awaitable);
      continue;
    }
    if (line.error().code != ErrorCode::limit) co_return;
    connection.answer(mcp::error_response("null", mcp::RpcError{mcp::code::kInvalidRequest, line.error().message, {}}));
  }
}

void StdioFront::State::receive(Connection& connection, std::string line) {
  const json::Limits bounds{.bytes = options.limits.message_bytes, .depth = options.limits.depth};
  mcp::IncomingResult incoming = mcp::parse_incoming(std::move(line), bounds, connection.session->allows_batches());
  if (!incoming) {
    connection.answer(mcp::error_response(incoming.error().id, incoming.error().error));
    return;
  }
  const auto is_request = [](const mcp::Message& message) { return message.kind == mcp::Message::Kind::request; };
  const auto requests =
      static_cast<std::size_t>(std::ranges::count_if(incoming->messages, is_request)) + incoming->faults.size();
  const auto reply = std::make_shared<LineReply>(connection.outbox);
  std::vector<std::shared_ptr<Reply>> parts;
  if (incoming->batch && requests > 0) parts = split_reply(reply, requests);
  std::size_t next = 0;
  for (const mcp::IncomingFault& fault : incoming->faults) finish_with(fault, *parts[next++]);
  for (mcp::Message& message : incoming->messages) {
    std::shared_ptr<Reply> own = reply;
    if (incoming->batch && is_request(message)) own = parts[next++];
    if (draining && is_request(message)) {
      own->finish(
          {mcp::error_response(message.id, mcp::RpcError{mcp::code::kRefused, "the gateway is shutting down", {}})});
      continue;
    }
    // A cancel is the session's in either era: ids are told apart there.
    Entry entry = incoming->batch || !is_request(message) ? Entry() : read_entry(message, nullptr);
    if (const auto* refused = std::get_if<RefusedEntry>(&entry)) {
      own->finish({.message = mcp::error_response(message.id, refused->error), .error = refused->error.code});
    } else if (auto* modern = std::get_if<ModernEntry>(&entry)) {
      sessions.modern().receive(connection.session, {std::move(message), std::move(modern->envelope), {}},
                                std::move(own));
    } else {
      connection.session->receive(std::move(message), {}, std::move(own));
    }
  }
}

asio::awaitable<bool> StdioFront::State::wait_quiet(Connection& connection, Deadline deadline) {
  while (connection.writing && connection.session->open_requests() > 0) {
    const bool notified = co_await connection.changed.wait(deadline);
    if (!notified) break;
  }
  co_return connection.session->open_requests() == 0;
}

// The client said its last word, or we did.
asio::awaitable<void> StdioFront::State::finish(Connection& connection) {
  bool quiet = false;
  if (!draining) quiet = co_await wait_quiet(connection, Deadline::after(options.end_grace));
  if (!draining && !quiet) connection.session->cancel_requests(CancelReason::disconnect);
  const Deadline last = draining ? Deadline::never() : Deadline::after(options.cancel_wait);  // drained: by shutdown()
  co_await wait_quiet(connection, last);
  connection.outbox->close();
  while (connection.writing) co_await connection.changed.wait(Deadline::never());  // bounded by write_wait
}

StdioFront::StdioFront(asio::any_io_executor loop, Sessions& sessions,
                       std::shared_ptr<const Authenticator> authenticator, StdioFrontOptions options)
    : state_(std::make_shared<State>(std::move(loop), sessions, std::move(authenticator), std::move(options))) {}

StdioFront::~StdioFront() {
  for (Connection* connection : state_->connections) state_->end_session(*connection);
  state_->tasks.cancel();
}

void StdioFront::set_authenticator(std::shared_ptr<const Authenticator> authenticator) {
  state_->authenticator = std::move(authenticator);
}

void StdioFront::accept(std::unique_ptr<ByteStream> stream) {
  if (state_->draining || state_->connections.size() >= 2 * state_->options.connections) return;
  auto connection = std::make_shared<Connection>(std::move(stream), state_->loop, state_->options.limits);
  state_->tasks.spawn("stdio.connection", State::serve(state_, std::move(connection)));
}

asio::awaitable<bool> StdioFront::shutdown(Deadline deadline) {
  const std::shared_ptr<State> state = state_;
  state->draining = true;
  const bool quiet = co_await state->sessions.drain(deadline);
  // Each writer ends when what waits was written, and its connection with it.
  for (Connection* connection : state->connections) connection->outbox->close();
  const bool clean = co_await state->tasks.wait_empty(deadline);
  state->tasks.cancel();
  co_return quiet&& clean;
}

std::size_t StdioFront::connections() const { return state_->connections.size(); }

}  // namespace sallyport::gateway
