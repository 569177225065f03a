// Repeated refusals of one principal fold into one receipt with a count (design section 6): the first has its own, the
// equal ones that follow within a minute share another. Until that one is written the store remembers how many there
// were, so that a crash loses none.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/base/log.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/operation_table.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMost = 256;  // beyond it each refusal has a receipt of its own
constexpr const char* kSetting = "refusals.folded";

}  // namespace

// Who, what and why. Empty: never folded, because a person had a hand in it.
std::string Calls::fold_key(const Call& call) const {
  if (!call.approval.empty() || !call.judged.refused()) return {};
  std::string why;
  for (const Refusal& refusal : call.judged.refusals) {
    why += fmt::format("{} ", to_string(refusal.code));
    for (const Reason& reason : refusal.reasons) why += fmt::format("{}{} ", reason.rule, reason.pointer);
    if (!refusal.approval.empty()) return {};
  }
  const std::string_view arguments = call.request.arguments ? call.request.arguments.raw() : std::string_view("{}");
  return store_.fingerprint(fmt::format("refusal\n{}\n{}\n{}\n{}\n{}\n{}\n{}", quote(call.row.principal),
                                        quote(call.row.run), quote(call.request.client->mount.server),
                                        quote(call.request.name + "\n" + call.request.uri),
                                        to_string(call.request.method), why, arguments));
}

// True: counted with others, durably; `meta` names the receipt that will say so.
asio::awaitable<bool> Calls::fold(std::string key, Call& call, CallMeta& meta) {
  const auto found = key.empty() ? folds_.end() : folds_.find(key);
  if (found == folds_.end()) co_return false;
  Fold& first = found->second;
  if (first.receipt.empty()) first.receipt = entropy_.id("rc", clock_.now());
  ++first.count;
  first.body.times.concluded = clock_.now();
  meta.operation = first.operation;
  meta.receipt = first.receipt;
  static_cast<void>(step(call.row, Event::refuse));
  const std::string open = open_folds();
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) { return tx.put_setting(kSetting, open); });
  if (!stored) {
    meta.receipt.clear();
    meta.unrecorded = true;
  }
  co_return true;
}

void Calls::open_fold(std::string key, const Call& call, const trust::ReceiptBody& body) {
  if (key.empty() || folds_.size() >= kMost) return;
  folds_.insert_or_assign(std::move(key), Fold{call.row.id, {}, 0, clock_.now(), body});
}

std::string Calls::open_folds() const {
  bj::array all;
  for (const auto& [key, fold] : folds_) {
    if (fold.count > 0)
      all.emplace_back(bj::object{{"count", fold.count}, {"operation", fold.operation}, {"receipt", fold.receipt}});
  }
  return json::canonical(bj::value(std::move(all)));
}

// Writes the receipts of those that began before that time, and forgets them.
asio::awaitable<void> Calls::close_folds(UnixMillis before) {
  std::vector<trust::ReceiptBody> due;
  const auto gone = std::erase_if(folds_, [&](const auto& entry) {
    const Fold& fold = entry.second;
    if (fold.since > before) return false;
    if (fold.count == 0) return true;
    trust::ReceiptBody body = fold.body;
    body.id = fold.receipt;
    body.count = fold.count;
    due.push_back(std::move(body));
    return true;
  });
  if (gone == 0 || due.empty()) co_return;
  const std::string open = open_folds();
  auto stored = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    for (const trust::ReceiptBody& body : due) {
      if (auto appended = tx.append(body); !appended) return fail(appended.error());
    }
    return tx.put_setting(kSetting, open);
  });
  if (!stored) log::error("refusals.uncounted", {{"reason", stored.error().message}});
}

// What a crash left uncounted.
Status Calls::recover_folds(Tx& tx, const trust::ReceiptBody& blank) {
  const auto kept = tx.setting(kSetting);
  if (!kept) return {};
  boost::system::error_code ec;
  const bj::value all = bj::parse(*kept, ec);
  if (ec || !all.is_array() || all.as_array().empty()) return {};
  for (const bj::value& one : all.as_array()) {
    const auto operation = bj::value_to<std::string>(one.at("operation"));
    const auto row = tx.operation(operation);
    trust::ReceiptBody body = row ? receipt_about(blank, *row) : blank;
    body.id = bj::value_to<std::string>(one.at("receipt"));
    body.operation = operation;
    body.count = bj::value_to<std::uint64_t>(one.at("count"));
    if (tx.receipt(body.id)) continue;
    body.outcome = trust::OutcomeRecord{Outcome::none, "not-sent"};
    if (auto appended = tx.append(std::move(body)); !appended) return fail(appended.error());
  }
  return tx.put_setting(kSetting, "[]");
}

}  // namespace sallyport::gateway::calls
