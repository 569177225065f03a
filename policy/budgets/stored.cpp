// Counters and reservations as one line of JSON for the store.
#include "policy/budgets/budget.hpp"

namespace sallyport::policy {
namespace {

std::string encode(const Charge& charge) {
  return "\"requests\":" + std::to_string(charge.requests) + ",\"attempts\":" + std::to_string(charge.attempts) +
         ",\"amount\":\"" + charge.amount.text() + "\"";
}

std::optional<std::int64_t> integer(json::Value object, std::string_view name) {
  const json::Value value = object.find(name);
  return value && value.is_number() ? value.integer() : std::nullopt;
}

std::optional<Charge> decode_charge(json::Value object) {
  const auto requests = integer(object, "requests");
  const auto attempts = integer(object, "attempts");
  const json::Value amount = object.find("amount");
  if (!requests || !attempts || *requests < 0 || *attempts < 0 || !amount || !amount.is_string()) return std::nullopt;
  const auto decimal = Decimal::parse(amount.string());
  if (!decimal) return std::nullopt;
  return Charge{static_cast<std::uint64_t>(*requests), static_cast<std::uint64_t>(*attempts), *decimal};
}

}  // namespace

std::string encode(const Counter& counter) {
  std::string out = "{\"latest\":" + std::to_string(counter.latest) + ",\"arrival\":" + std::to_string(counter.arrival);
  if (counter.started) out += ",\"started\":" + std::to_string(*counter.started);
  out += ",\"slots\":[";
  for (std::size_t i = 0; i < counter.slots.size(); ++i) {
    const Counter::Slot& slot = counter.slots[i];
    out += (i == 0 ? "{\"start\":" : ",{\"start\":") + std::to_string(slot.start) + "," +
           encode(Charge{slot.requests, slot.attempts, slot.amount}) + "}";
  }
  return out + "]}";
}

std::optional<Counter> decode_counter(const std::string& text) {
  const auto document = json::Document::parse(text);
  if (!document || !document->root().is_object()) return std::nullopt;
  const json::Value root = document->root();
  const auto latest = integer(root, "latest");
  const auto arrival = integer(root, "arrival");
  const json::Value slots = root.find("slots");
  if (!latest || !arrival || !slots || !slots.is_array()) return std::nullopt;
  Counter out;
  out.latest = *latest;
  out.arrival = *arrival;
  out.started = integer(root, "started");
  for (const json::Value slot : slots.elements()) {
    const auto start = integer(slot, "start");
    const auto charge = decode_charge(slot);
    if (!start || !charge) return std::nullopt;
    out.slots.push_back(Counter::Slot{*start, charge->requests, charge->attempts, charge->amount});
  }
  return out;
}

std::string encode(const Reservation& reservation) {
  return "{\"slot\":" + std::to_string(reservation.slot) + "," + encode(reservation.charge) + "}";
}

std::optional<Reservation> decode_reservation(const std::string& text) {
  const auto document = json::Document::parse(text);
  if (!document || !document->root().is_object()) return std::nullopt;
  const auto slot = integer(document->root(), "slot");
  const auto charge = decode_charge(document->root());
  if (!slot || !charge) return std::nullopt;
  return Reservation{*slot, *charge};
}

}  // namespace sallyport::policy
