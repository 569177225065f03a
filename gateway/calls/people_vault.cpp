// The vault (design section 6): the arguments of writes, sealed for 30 days, for auditors; each reading leaves a
// receipt.
#include <fmt/format.h>
#include <boost/json.hpp>

#include "gateway/calls/people.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/receipts/commitment.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

namespace {

// What the receipts of an operation commit to.
struct Commitment {
  std::string receipt, operation, server, tool, hmac;
  std::vector<std::string> redacted;
};

std::optional<Commitment> commitment_of(const ReceiptRow& row) {
  auto document = json::Document::parse(row.payload);
  if (!document) return std::nullopt;
  const json::Value arguments = document->root().at("/predicate/arguments");
  const json::Value hmac = arguments ? arguments.find("hmac") : json::Value();
  if (!hmac || row.operation.empty()) return std::nullopt;
  Commitment out{row.id, row.operation, row.server, row.tool, hmac.string(), {}};
  for (const json::Value pointer : arguments.find("redacted").elements()) out.redacted.push_back(pointer.string());
  return out;
}

std::optional<Commitment> find_commitment(Tx& tx, const std::string& id) {
  if (const auto row = tx.receipt(id)) return commitment_of(*row);
  ReceiptFilter filter;
  filter.operation = id;
  filter.newest_first = false;
  for (const ReceiptRow& row : tx.receipts(filter)) {
    if (auto found = commitment_of(row)) return found;
  }
  return std::nullopt;
}

}  // namespace

DeskAnswer People::open_arguments(Person person, std::string id, std::string arguments_raw) {
  if (auto allowed = must_have(person, Role::auditor); !allowed) co_return fail(allowed.error());
  std::optional<Commitment> found;
  Result<std::string> kept = fail(ErrorCode::not_found, "");
  auto read = co_await calls_.store().read([&](Tx& tx) -> Status {
    found = find_commitment(tx, id);
    if (found && arguments_raw.empty()) kept = tx.sealed(found->operation, "vault");
    return {};
  });
  if (!read) co_return fail(read.error());
  if (!found) co_return fail(ErrorCode::not_found, "no receipt of `" + id + "` commits to arguments");
  const bool compare = !arguments_raw.empty();
  if (!compare && !kept) {
    co_return fail(ErrorCode::not_found, "the arguments of `" + found->operation +
                                             "` are not in the vault: it keeps those of writes, for 30 days. Whoever "
                                             "has them can compare them: name them after the id");
  }
  auto document =
      json::Document::parse(compare ? arguments_raw : *kept, json::Limits{.bytes = 64U << 20, .depth = 10'000});
  if (!document) co_return fail(ErrorCode::invalid, "the arguments are no JSON: " + document.error().message);
  const bool matches =
      trust::opens(found->hmac, document->root(), found->redacted, calls_.store().operation_key(found->operation));

  trust::ReceiptBody body = calls_.receipt(trust::ReceiptKind::access);
  body.operation = found->operation;
  body.server_id = found->server;
  body.tool = found->tool;
  body.event = trust::EventRecord{compare ? "compared" : "opened",      person.id, {}, found->receipt, {}, {},
                                  {{"matches", matches ? "yes" : "no"}}};
  // Before anything is shown.
  auto recorded = co_await calls_.store().commit(Durability::power, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    return {};
  });
  if (!recorded) co_return fail(recorded.error());
  bj::array redacted;
  for (const auto& pointer : found->redacted) redacted.emplace_back(visible(pointer));
  bj::object out{{"matches", matches},
                 {"operation", found->operation},
                 {"receipt", found->receipt},
                 {"redacted", std::move(redacted)}};
  if (!compare) out["arguments"] = *kept;  // as text: numbers keep their tokens
  co_return json::canonical(bj::value(std::move(out)));
}

}  // namespace sallyport::gateway::calls
