#include "gateway/clients/outbox.hpp"

#include <algorithm>

namespace sallyport::gateway {

bool Outbox::make_room(std::size_t size) {
  if (size > std::max(bounds_.note_most, bounds_.note_bytes)) return false;
  while (notes_ > 0 && (notes_ >= bounds_.notes || note_bytes_ + size > bounds_.note_bytes)) {
    if (droppable_ == 0) return false;
    const auto victim = std::ranges::find_if(items_, [](const Item& item) { return item.droppable; });
    note_bytes_ -= victim->text.size();
    --notes_;
    --droppable_;
    ++dropped_;
    items_.erase(victim);
  }
  return true;
}

void Outbox::note(std::string text, bool droppable, std::uint64_t number) {
  if (closed_ || abandoned_) return;
  if (!make_room(text.size())) {
    ++dropped_;
    return;
  }
  ++notes_;
  droppable_ += droppable ? 1 : 0;
  note_bytes_ += text.size();
  items_.push_back({std::move(text), {}, Item::Kind::note, droppable, number});
  changed_.notify();
}

bool Outbox::question(std::string text, std::uint64_t number) {
  if (closed_ || abandoned_) return false;
  if (question_bytes_ > 0 && question_bytes_ + text.size() > bounds_.question_bytes) return false;
  question_bytes_ += text.size();
  items_.push_back({std::move(text), {}, Item::Kind::question, false, number});
  changed_.notify();
  return true;
}

void Outbox::answer(std::string text, Delivery delivery) {
  if (closed_ || abandoned_) return;
  if (answer_bytes_ > 0 && answer_bytes_ + text.size() > bounds_.bytes) {
    overflowed_ = true;
    abandon();
    return;
  }
  answer_bytes_ += text.size();
  items_.push_back({std::move(text), std::move(delivery), Item::Kind::answer, false, 0});
  changed_.notify();
}

std::optional<Outbox::Item> Outbox::take() {
  if (items_.empty()) return std::nullopt;
  Item item = std::move(items_.front());
  items_.pop_front();
  if (item.kind == Item::Kind::answer) {
    answer_bytes_ -= item.text.size();
  } else if (item.kind == Item::Kind::question) {
    question_bytes_ -= item.text.size();
  } else {
    --notes_;
    droppable_ -= item.droppable ? 1 : 0;
    note_bytes_ -= item.text.size();
  }
  changed_.notify();
  return item;
}

void Outbox::close() {
  closed_ = true;
  changed_.notify();
}

void Outbox::abandon() {
  closed_ = true;
  abandoned_ = true;
  const std::list<Item> gone = std::move(items_);  // their deliveries fail when this goes, and may call back
  items_.clear();
  notes_ = droppable_ = note_bytes_ = question_bytes_ = answer_bytes_ = 0;
  changed_.notify();
}

}  // namespace sallyport::gateway
