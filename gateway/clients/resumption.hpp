// Resumption: what of a session's event streams is kept so that its client can read them on from another connection
// (2025-11-25): the answer to a POST with what came before it, and the notes of the session's own stream. On the loop.
//
// Event ids are `<stream>-<event>`; stream 0 is the session's own. Bounds: kPosts streams of POSTs a session; of one
// that nobody reads, HttpReply::kAway bytes of events and as many of the answer, until kKeep after its request ended;
// and Parking::kMost of those in the whole gateway, of which those of the principal that has most, the oldest first,
// are given up.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "gateway/base/deadline.hpp"
#include "gateway/clients/event_ring.hpp"
#include "gateway/clients/http_reply.hpp"
#include "gateway/clients/share.hpp"

namespace sallyport::gateway {

struct EventId {
  std::uint32_t stream = 0;
  std::uint64_t event = 0;
};
[[nodiscard]] std::string to_text(EventId id);
[[nodiscard]] std::optional<EventId> parse_event_id(std::string_view text);

class PostStream;

// The streams of all sessions that nobody reads at present.
class Parking {
 public:
  static constexpr std::size_t kMost = 256;
  // `whose`: the principal.
  void park(std::weak_ptr<PostStream> stream, std::string whose);

 private:
  struct Parked {
    std::weak_ptr<PostStream> stream;
    std::string whose;
  };
  std::deque<Parked> parked_;  // the oldest first
};

// The event stream that answers one POST. Read by one connection at a time; the newest counts.
class PostStream : public std::enable_shared_from_this<PostStream> {
 public:
  PostStream(std::uint32_t number, std::shared_ptr<HttpReply> reply, std::shared_ptr<Parking> parking,
             std::string whose);
  PostStream(const PostStream&) = delete;
  PostStream& operator=(const PostStream&) = delete;
  ~PostStream();  // whoever did not read it to the end never will

  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] EventRing& events() { return events_; }
  // Moves what has come from the reply to the events. True: nothing more will come.
  bool collect();
  [[nodiscard]] Signal& changed() { return reply_->changed(); }
  // The last event reached a client that was still there, or perhaps not.
  void told(bool taken) { delivery_.done(taken); }

  [[nodiscard]] unsigned begin_reading();  // ends whoever reads it now
  [[nodiscard]] bool is_reader(unsigned reader) const { return reader == reader_; }
  void end_reading(unsigned reader);
  void give_up();
  [[nodiscard]] bool is_read() const { return read_; }
  [[nodiscard]] bool given_up() const { return given_up_; }
  [[nodiscard]] bool expired(Deadline::Clock::time_point now) const;

 private:
  std::uint32_t number_;
  std::shared_ptr<HttpReply> reply_;
  EventRing events_;
  Delivery delivery_;
  std::shared_ptr<Parking> parking_;
  std::string whose_;
  bool done_ = false;
  bool given_up_ = false;
  unsigned reader_ = 0;
  bool read_ = false;
  std::optional<Deadline::Clock::time_point> unread_since_;
};

class Resumption {
 public:
  static constexpr std::size_t kPosts = 16;
  static constexpr std::chrono::seconds kKeep{60};

  Resumption(std::shared_ptr<Parking> parking, const Principal& whose)
      : parking_(std::move(parking)), whose_(share_of(whose)) {}
  std::shared_ptr<PostStream> open(std::shared_ptr<HttpReply> reply);
  [[nodiscard]] std::shared_ptr<PostStream> find(std::uint32_t number) const;
  void close(std::uint32_t number) { posts_.erase(number); }
  void sweep(Deadline::Clock::time_point now);
  [[nodiscard]] bool busy() const { return !posts_.empty(); }

  [[nodiscard]] EventRing& own() { return own_; }

 private:
  std::shared_ptr<Parking> parking_;
  std::string whose_;
  std::uint32_t next_ = 1;
  std::map<std::uint32_t, std::shared_ptr<PostStream>> posts_;  // by number: the oldest first
  EventRing own_{64, 64U << 10};
};

}  // namespace sallyport::gateway
