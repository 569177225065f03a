#include "gateway/net/descriptor.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cerrno>
#include <system_error>

#include "gateway/base/signal.hpp"

namespace sallyport::gateway {

struct Descriptor::State {
  State(asio::any_io_executor loop, int fd) : descriptor(loop, fd), sides{Side(loop), Side(loop)} {}
  // A wait of the reactor that outlives the caller's deadline stays armed; the next caller finds it.
  struct Side {
    explicit Side(asio::any_io_executor loop) : changed(std::move(loop)) {}
    Signal changed;
    bool armed = false;
    bool ready = false;
    int error = 0;
  };
  Side& side(Ready ready) { return sides[ready == Ready::read ? 0 : 1]; }
  asio::posix::stream_descriptor descriptor;
  Side sides[2];
  bool closed = false;
};

Descriptor::Descriptor(asio::any_io_executor loop, int fd) : state_(std::make_shared<State>(std::move(loop), fd)) {}
Descriptor::~Descriptor() { close(); }

int Descriptor::fd() const { return state_->closed ? -1 : state_->descriptor.native_handle(); }

void Descriptor::close() noexcept {
  if (state_->closed) return;
  state_->closed = true;
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
  for (auto& side : state_->sides) side.changed.notify();
}

asio::awaitable<Status> Descriptor::wait(Ready ready, Deadline deadline) {
  const std::shared_ptr<State> state = state_;  // *this may go while we wait
  State::Side& side = state->side(ready);
  if (!state->closed && !side.armed) {
    side.armed = true;
    side.ready = false;
    const auto type =
        ready == Ready::read ? asio::posix::stream_descriptor::wait_read : asio::posix::stream_descriptor::wait_write;
    state->descriptor.async_wait(type, [state, &side](const boost::system::error_code& error) {
      side.armed = false;
      side.ready = true;
      // Files and /dev/null cannot be waited for; they never block either.
      side.error = error && error != asio::error::operation_not_supported ? error.value() : 0;
      side.changed.notify();
    });
  }
  while (!state->closed && !side.ready) {
    const bool notified = co_await side.changed.wait(deadline);
    if (!notified && !side.ready && !state->closed) {
      co_return fail(ErrorCode::timeout, ready == Ready::read ? "no data came in time" : "no data was taken in time");
    }
  }
  if (state->closed) co_return fail(ErrorCode::cancelled, "the connection was closed");
  if (side.error != 0) co_return fail(ErrorCode::io, system_error_text(side.error));
  co_return Status{};
}

std::string system_error_text(int error) { return std::generic_category().message(error); }

}  // namespace sallyport::gateway
