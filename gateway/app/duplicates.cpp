#include "gateway/app/duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <limits>
#include <map>
#include <unordered_map>
#include <vector>

#include "gateway/cli/times.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMostOperations = 2'000'000;

// What the receipts of one operation say in the end.
struct Said {
  std::string principal, server, tool, fingerprint, recorded;  // recorded: canonical; empty: nothing
  std::string redacted;                                        // pointers of values that no fingerprint covers
  std::string outcome, basis, receipt;                         // of the last one that tells
  UnixMillis time = 0;
};

class Duplicates {
 public:
  Status add(const ReceiptRow& row) {
    const bool counts = row.kind == "intent" || row.kind == "outcome" || row.kind == "reconciliation";
    if (!counts || row.operation.empty()) return {};
    if (operations_.size() >= kMostOperations)
      return fail(ErrorCode::limit,
                  "there are too many operations: narrow it down with --since, --until, --server or --tool");
    boost::system::error_code ec;
    const bj::value payload = bj::parse(row.payload, ec);
    const auto* predicate = ec ? nullptr : payload.as_object().if_contains("predicate");
    if (predicate == nullptr || !predicate->is_object()) return {};
    Said& said = operations_[row.operation];
    if (said.time == 0) said.time = row.time;
    said.principal = row.principal;
    said.server = row.server;
    said.tool = row.tool;
    said.outcome = row.outcome;
    said.receipt = row.id;
    const bj::value* basis = payload.find_pointer("/predicate/outcome/basis", ec);
    if (basis != nullptr && basis->is_string()) said.basis = basis->as_string();
    const bj::value* fingerprint = payload.find_pointer("/predicate/arguments/fingerprint", ec);
    if (fingerprint != nullptr && fingerprint->is_string()) said.fingerprint = fingerprint->as_string();
    const bj::value* recorded = payload.find_pointer("/predicate/arguments/recorded", ec);
    if (recorded != nullptr) said.recorded = json::canonical(*recorded);
    const bj::value* redacted = payload.find_pointer("/predicate/arguments/redacted", ec);
    if (redacted != nullptr && redacted->is_array()) {
      said.redacted.clear();
      for (const bj::value& pointer : redacted->as_array()) {
        if (pointer.is_string())
          said.redacted += (said.redacted.empty() ? "" : ", ") + std::string(pointer.as_string());
      }
    }
    return {};
  }

  struct Group {
    std::string why;  // `same arguments`, `alike in what is recorded`
    std::vector<std::pair<std::string, const Said*>> operations;
    [[nodiscard]] std::size_t sure() const { return count("applied"); }
    [[nodiscard]] std::size_t open() const { return count("unknown"); }
    [[nodiscard]] std::size_t count(std::string_view outcome) const {
      return static_cast<std::size_t>(
          std::ranges::count_if(operations, [&](const auto& one) { return one.second->outcome == outcome; }));
    }
  };

  // Groups of at least two, those that are not carried out as well: to say that something happened once needs the
  // others. The same arguments first.
  [[nodiscard]] std::vector<Group> groups() const {
    std::map<std::string, Group> same, alike;
    for (const auto& [id, said] : operations_) {
      const std::string tool = said.server + "\n" + said.tool + "\n";
      if (!said.fingerprint.empty()) same[tool + said.fingerprint].operations.emplace_back(id, &said);
      if (!said.recorded.empty()) alike[tool + said.recorded].operations.emplace_back(id, &said);
    }
    std::vector<Group> out;
    for (auto& [key, group] : same) {
      const std::string& redacted = group.operations.front().second->redacted;
      group.why = redacted.empty() ? "the same arguments" : "the same arguments but for what is redacted: " + redacted;
      if (group.operations.size() > 1) out.push_back(std::move(group));
    }
    for (auto& [key, group] : alike) {
      group.why = "alike in what is recorded, not in all arguments";
      const bool one = std::ranges::all_of(group.operations, [&](const auto& other) {
        return other.second->fingerprint == group.operations.front().second->fingerprint;
      });
      if (group.operations.size() > 1 && !one) out.push_back(std::move(group));
    }
    for (Group& group : out) std::ranges::sort(group.operations, {}, [](const auto& one) { return one.second->time; });
    return out;
  }

 private:
  std::unordered_map<std::string, Said> operations_;
};

bool maybe_more_than_once(const Duplicates::Group& group) { return group.sure() + group.open() > 1; }

std::string times(const Duplicates::Group& group) {
  const std::size_t sure = group.sure();
  const std::size_t most = sure + group.open();
  if (sure != most) return fmt::format("carried out {} to {} times", sure, most);
  return fmt::format("carried out {} time{}", sure, sure == 1 ? "" : "s");
}

std::string to_text(const std::vector<Duplicates::Group>& groups) {
  std::string out;
  for (const auto& group : groups) {
    const Said& first = *group.operations.front().second;
    out += fmt::format("{}/{}: {} of {} asked for, {}\n", visible(first.server), visible(first.tool), times(group),
                       group.operations.size(), visible(group.why));
    if (!first.recorded.empty()) out += fmt::format("  recorded  {}\n", visible(first.recorded));
    for (const auto& [id, said] : group.operations) {
      out += fmt::format("  {}  {}  {}  {} ({})  {}\n", cli::local_and_utc(said->time), id, visible(said->principal),
                         said->outcome, visible(said->basis), said->receipt);
    }
  }
  if (std::ranges::none_of(groups, maybe_more_than_once))
    out += "nothing was carried out twice, as far as this log knows\n";
  return out;
}

std::string to_json(const std::vector<Duplicates::Group>& groups) {
  bj::array all;
  for (const auto& group : groups) {
    const Said& first = *group.operations.front().second;
    bj::array operations;
    for (const auto& [id, said] : group.operations) {
      operations.emplace_back(bj::object{{"basis", said->basis},
                                         {"operation", id},
                                         {"outcome", said->outcome},
                                         {"principal", said->principal},
                                         {"receipt", said->receipt},
                                         {"time", to_utc(said->time)}});
    }
    all.emplace_back(bj::object{{"atLeast", group.sure()},
                                {"atMost", group.sure() + group.open()},
                                {"operations", std::move(operations)},
                                {"server", first.server},
                                {"tool", first.tool},
                                {"why", group.why}});
  }
  return json::canonical(bj::value(bj::object{{"duplicates", std::move(all)}})) + "\n";
}

}  // namespace

int duplicates_command(const cli::Invocation& invocation, ReadOnlyStore& store, cli::Terminal& terminal) {
  ReceiptFilter filter;
  filter.newest_first = false;
  filter.limit = std::numeric_limits<std::uint32_t>::max();
  filter.server = invocation.query.server;
  filter.tool = invocation.query.tool;
  const UnixMillis now = system_clock().now();
  for (const auto& [written, into] :
       {std::pair{&invocation.query.since, &filter.since}, std::pair{&invocation.query.until, &filter.until}}) {
    if (written->empty()) continue;
    const auto moment = cli::parse_moment(*written, now);
    if (!moment) return cli::complain(terminal, moment.error().message);
    *into = *moment;
  }
  Duplicates found;
  Status added;
  // Reads change nothing: only what is no `call` counts.
  const Status read = store.each_receipt(filter, [&](const ReceiptRow& row) {
    if (row.kind != "call") added = found.add(row);
    return added.has_value();
  });
  if (!read) return cli::complain(terminal, read.error().message);
  if (!added) return cli::complain(terminal, added.error().message);
  const auto groups = found.groups();
  terminal.out(invocation.json ? to_json(groups) : to_text(groups));
  return std::ranges::none_of(groups, maybe_more_than_once) ? cli::kYes : cli::kNo;
}

}  // namespace sallyport::gateway
