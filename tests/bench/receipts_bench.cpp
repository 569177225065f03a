// Numbers of receipts: bench_receipts [FOLDER] prints a table; FOLDER (default: a temporary one) says which disk.
// Verification is measured beside raw Ed25519 verifies, interleaved, so that a busy machine slows both.
#include <fmt/format.h>
#include <stdlib.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "gateway/cli/verify_file.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/envelope.hpp"
#include "trust/receipts/merkle.hpp"

namespace sallyport::bench {
namespace {

using namespace gateway;
using Clock = std::chrono::steady_clock;

double seconds(const std::function<void()>& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void row(const std::string& what, const std::string& value) { fmt::print("{:<62} {}\n", what, value); }

trust::ReceiptBody body_of(int number) {
  trust::ReceiptBody body;
  body.kind = trust::ReceiptKind::outcome;
  body.id = fmt::format("rc_01KB9Z3W9Q8V5M0F7T{:08}", number);
  body.operation = fmt::format("op_01KB9Z3W9Q8V5M0F7T{:08}", number);
  body.attempt = 1;
  body.run = "run_01KB9Z3W9Q8V5M0F7T2N6R4XHC";
  body.principal = "agent:ci";
  body.client_name = "claude-code";
  body.client_version = "2.1";
  body.server_id = "orders";
  body.server_identity = trust::digest_text("identity");
  body.tool = "create_order";
  body.definition = trust::digest_text("definition");
  body.arguments = trust::ArgumentsRecord{trust::sha256_hex("a"), trust::sha256_hex("b"), {{"/customer_id", "7"}}, {}};
  body.scope_name = "orders/customer-7";
  EffectView view;
  view.assigned = EffectCategory::record;
  view.effective = {EffectCategory::record, false, Repeat::keyed, {"money"}};
  view.source = EffectSource::contract;
  body.effect = view;
  body.decision = trust::DecisionRecord{
      Verdict::allow, false, {{"orders", Verdict::allow}}, {}, trust::digest_text("p"), trust::digest_text("t")};
  body.outcome = trust::OutcomeRecord{Outcome::applied, "answered"};
  body.result = trust::ResultRecord{trust::ResultStatus::ok, trust::sha256_hex("r"), 312, {{"/id", "8"}}, {}};
  body.protocol = "2026-07-28";
  body.transport = "http";
  body.gateway = {"0.1.0", "b7d1f6", "service", ""};
  body.times.received = body.times.decided = body.times.concluded = 1'796'030'042'118 + number;
  return body;
}

void bench_verify() {
  constexpr int kLines = 20'000;
  constexpr int kRounds = 10;
  auto key = trust::SigningKey::from_seed(trust::Seed{1}).value();
  auto chain = trust::Chain::first(key.public_key());
  std::vector<std::string> lines;
  std::size_t bytes = 0;
  for (int i = 0; i < kLines; ++i) {
    lines.push_back(chain.append(body_of(i), key).line);
    bytes += lines.back().size() + 1;
  }
  row("bytes of an exported receipt (a write's outcome)", fmt::format("{}", bytes / kLines));
  const std::string message = trust::pae(std::string(1400, 'x'));
  const trust::Signature signature = key.sign(message);
  trust::VerifyOptions options;
  options.keys = {key.public_key()};
  trust::VerifyOptions bare;
  bare.signatures = false;
  cli::VerifyRun one(options, 1), all(options), form(bare, 1), form_all(bare);
  double raw = 0, single = 0, many = 0, unsigned_one = 0, unsigned_all = 0;
  constexpr int kPiece = kLines / kRounds;
  for (int round = 0; round < kRounds; ++round) {
    raw += seconds([&] {
      for (int i = 0; i < kPiece; ++i) {
        if (!key.public_key().verify(message, trust::bytes_of(signature))) std::abort();
      }
    });
    const auto feed = [&](cli::VerifyRun& run) {
      return seconds([&] {
        for (int i = round * kPiece; i < (round + 1) * kPiece; ++i) run.line(lines[static_cast<std::size_t>(i)]);
        run.flush();
      });
    };
    single += feed(one);
    many += feed(all);
    unsigned_one += feed(form);
    unsigned_all += feed(form_all);
  }
  for (cli::VerifyRun* run : {&one, &all, &form, &form_all}) {
    if (!run->finish().ok()) std::abort();
  }
  row("raw Ed25519 verifies a second, one core", fmt::format("{:.0f}", kLines / raw));
  row("receipts verified a second, one core",
      fmt::format("{:.0f} ({:.0f} % of raw)", kLines / single, 100 * raw / single));
  row(fmt::format("receipts verified a second, {} cores", std::thread::hardware_concurrency()),
      fmt::format("{:.0f}", kLines / many));
  row("without signatures, one core",
      fmt::format("{:.0f} ({:.1f} times as fast)", kLines / unsigned_one, single / unsigned_one));
  row(fmt::format("without signatures, {} cores", std::thread::hardware_concurrency()),
      fmt::format("{:.0f} ({:.1f} times as fast)", kLines / unsigned_all, many / unsigned_all));
}

void bench_checkpoints() {
  auto key = trust::SigningKey::from_seed(trust::Seed{2}).value();
  trust::MerkleTree tree;
  const std::string payload(1400, 'x');
  for (const std::uint64_t size : {1'000'000U, 10'000'000U}) {
    const std::uint64_t begun = tree.size();
    const double grow = seconds([&] {
      const trust::Sha256 leaf = trust::leaf_hash("x");  // the tree's own cost; leaves are hashed below
      while (tree.size() < size) tree.append(leaf);
    });
    double made = 0;
    constexpr int kMade = 2000;
    made = seconds([&] {
      for (int i = 0; i < kMade; ++i) {
        tree.append_payload(payload);
        if (trust::sign_checkpoint({"sallyport.dev/x", tree.size(), tree.root()}, key).empty()) std::abort();
      }
    });
    row(fmt::format("a checkpoint at {} entries (with one more entry)", size),
        fmt::format("{:.0f} us", made / kMade * 1e6));
    row("  the tree's own cost an entry", fmt::format("{:.2f} us", grow / static_cast<double>(size - begun) * 1e6));
  }
  constexpr int kHashed = 200'000;
  const double hashed = seconds([&] {
    for (int i = 0; i < kHashed; ++i) {
      if (trust::leaf_hash(payload)[0] == 0 && i < 0) std::abort();
    }
  });
  row("hash of a leaf of 1,400 bytes", fmt::format("{:.2f} us", hashed / kHashed * 1e6));
}

asio::awaitable<void> write(Store& store, int writer, int count, int& left) {
  for (int i = 0; i < count; ++i) {
    const trust::ReceiptBody body = body_of(writer * 1'000'000 + i);
    const std::function<Status(Tx&)> step = [&](Tx& tx) -> Status {
      auto appended = tx.append(body);
      if (!appended) return fail(appended.error());
      return {};
    };
    const Status stored = co_await store.commit(Durability::power, step);
    if (!stored) std::abort();
  }
  --left;
}

void bench_store(const std::string& folder) {
  for (const int writers : {1, 32}) {
    const std::string path = fmt::format("{}/state-{}", folder, writers);
    asio::io_context loop;
    auto state = StateFolder::own(path, "bench", system_entropy());
    if (!state) throw std::runtime_error(state.error().message);
    StoreOptions options;
    options.folder = &*state;
    options.reserve_bytes = 0;
    auto store = open_store(options, loop.get_executor(), system_clock(), system_entropy());
    if (!store) throw std::runtime_error(store.error().message);
    const int each = 8000 / writers;
    int left = writers;
    for (int i = 0; i < writers; ++i) asio::co_spawn(loop, write(**store, i, each, left), asio::detached);
    const double took = seconds([&] {
      while (left > 0) loop.run_one();
    });
    const int count = each * writers;
    row(fmt::format("receipts a second, full durability, {} writer{}", writers, writers > 1 ? "s" : ""),
        fmt::format("{:.0f} ({:.0f} us each waits, {:.1f} a group)", count / took, took / each * 1e6,
                    static_cast<double>((*store)->stats().jobs) / static_cast<double>((*store)->stats().groups)));
    store->reset();
    loop.restart();
    loop.run();
    row("  bytes of the store for a receipt",
        fmt::format("{}", std::filesystem::file_size(path + "/store.db") / static_cast<std::uintmax_t>(count)));
  }
}

int run(int argc, char** argv) {
  std::string folder =
      argc > 1 ? argv[1] : (std::filesystem::temp_directory_path() / "sallyport-bench-XXXXXX").string();
  if (argc <= 1 && ::mkdtemp(folder.data()) == nullptr) return 2;
  bench_verify();
  bench_checkpoints();
  bench_store(folder);
  if (argc <= 1) std::filesystem::remove_all(folder);
  return 0;
}

}  // namespace
}  // namespace sallyport::bench

int main(int argc, char** argv) { return sallyport::bench::run(argc, argv); }
