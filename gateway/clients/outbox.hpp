// Outbox: what waits to be written to one client, in order and bounded. A reader that is slow or gone holds up nobody
// else: when there are too many notes, progress goes first; questions and answers are never dropped for notes, but a
// question that has no place is refused, and a client that lets too many bytes of answers pile up is given up. On the
// loop.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "gateway/base/signal.hpp"
#include "gateway/clients/reply.hpp"

namespace sallyport::gateway {

struct OutboxBounds {
  std::size_t notes = 4'096;              // a burst comes within one turn of the loop, before any reader had one
  std::size_t note_bytes = 1U << 20;      // a single larger note passes when no other waits
  std::size_t note_most = 4U << 20;       // unless it is larger than this
  std::size_t question_bytes = 8U << 20;  // a single larger question passes when no other waits
  std::size_t bytes = 64U << 20;          // of answers
};

class Outbox {
 public:
  struct Item {
    std::string text;
    Delivery delivery;
    enum class Kind : unsigned char { note, question, answer };
    Kind kind = Kind::note;
    bool droppable = false;
    std::uint64_t number = 0;  // of the event; 0: it has none
  };

  explicit Outbox(asio::any_io_executor loop, OutboxBounds bounds = {}) : bounds_(bounds), changed_(std::move(loop)) {}

  void note(std::string text, bool droppable, std::uint64_t number = 0);
  bool question(std::string text, std::uint64_t number = 0);  // false: it has no place
  // After overflow or abandon() the delivery fails at once.
  void answer(std::string text, Delivery delivery);
  [[nodiscard]] std::optional<Item> take();

  void close();    // nothing more will come; what waits is still to be written
  void abandon();  // nobody will read any more: drops everything
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] bool abandoned() const { return abandoned_; }
  [[nodiscard]] bool overflowed() const { return overflowed_; }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t bytes() const { return note_bytes_ + question_bytes_ + answer_bytes_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  Signal& changed() { return changed_; }  // something came, was taken, or the box was closed

 private:
  bool make_room(std::size_t size);
  OutboxBounds bounds_;
  std::list<Item> items_;  // takes no memory while empty, as most are
  std::size_t notes_ = 0;
  std::size_t droppable_ = 0;  // of the notes
  std::size_t note_bytes_ = 0;
  std::size_t question_bytes_ = 0;
  std::size_t answer_bytes_ = 0;
  std::size_t dropped_ = 0;
  bool closed_ = false;
  bool abandoned_ = false;
  bool overflowed_ = false;
  Signal changed_;
};

}  // namespace sallyport::gateway
