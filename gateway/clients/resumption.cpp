#include "gateway/clients/resumption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace sallyport::gateway {
namespace {

constexpr std::size_t kEvents = 4'096;  // a burst comes at once, before any reader had a turn
constexpr std::size_t kBytes = 1U << 20;

template <class Number>
bool read(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::string to_text(EventId id) { return fmt::format("{}-{}", id.stream, id.event); }

std::optional<EventId> parse_event_id(std::string_view text) {
  const std::size_t dash = text.find('-');
  EventId id;
  if (dash == std::string_view::npos || !read(text.substr(0, dash), id.stream) ||
      !read(text.substr(dash + 1), id.event))
    return std::nullopt;
  return id;
}

void Parking::park(std::weak_ptr<PostStream> stream, std::string whose) {
  std::erase_if(parked_, [](const Parked& each) {
    const auto open = each.stream.lock();
    return !open || open->is_read() || open->given_up();
  });
  parked_.push_back({std::move(stream), std::move(whose)});
  if (parked_.size() <= kMost) return;
  std::map<std::string_view, std::size_t> counts;
  for (const Parked& each : parked_) ++counts[each.whose];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  const auto oldest = std::ranges::find(parked_, most->first, &Parked::whose);
  if (const auto open = oldest->stream.lock()) open->give_up();
  parked_.erase(oldest);
}

PostStream::PostStream(std::uint32_t number, std::shared_ptr<HttpReply> reply, std::shared_ptr<Parking> parking,
                       std::string whose)
    : number_(number),
      reply_(std::move(reply)),
      events_(kEvents, kBytes),
      parking_(std::move(parking)),
      whose_(std::move(whose)) {
  reply_->set_resumable();
}

PostStream::~PostStream() { reply_->abandon(); }

bool PostStream::collect() {
  while (std::optional<Outbox::Item> note = reply_->take_note()) events_.push(std::move(note->text));
  if (done_ || !reply_->finished()) return done_;
  Finished finished = reply_->take();
  done_ = true;
  if (finished.cancelled) return true;
  events_.push(std::move(finished.message));
  delivery_ = std::move(finished.delivery);
  return true;
}

unsigned PostStream::begin_reading() {
  read_ = true;
  unread_since_.reset();
  reply_->set_away(false);
  ++reader_;
  reply_->changed().notify();
  return reader_;
}

void PostStream::end_reading(unsigned reader) {
  if (!is_reader(reader)) return;
  read_ = false;
  unread_since_ = Deadline::Clock::now();
  reply_->set_away(true);
  if (events_.bytes() > HttpReply::kAway) return give_up();
  parking_->park(weak_from_this(), whose_);
}

void PostStream::give_up() {
  given_up_ = true;
  reply_->abandon();
  events_ = EventRing(kEvents, kBytes);
  delivery_ = Delivery();
}

bool PostStream::expired(Deadline::Clock::time_point now) const {
  if (given_up_) return true;
  return !read_ && unread_since_ && (done_ || reply_->finished()) && now - *unread_since_ >= Resumption::kKeep;
}

std::shared_ptr<PostStream> Resumption::open(std::shared_ptr<HttpReply> reply) {
  if (posts_.size() >= kPosts) posts_.erase(posts_.begin());
  const std::uint32_t number = next_++;
  auto stream = std::make_shared<PostStream>(number, std::move(reply), parking_, whose_);
  posts_.emplace(number, stream);
  return stream;
}

std::shared_ptr<PostStream> Resumption::find(std::uint32_t number) const {
  const auto found = posts_.find(number);
  return found == posts_.end() || found->second->given_up() ? nullptr : found->second;
}

void Resumption::sweep(Deadline::Clock::time_point now) {
  std::erase_if(posts_, [now](const auto& entry) { return entry.second->expired(now); });
}

}  // namespace sallyport::gateway
