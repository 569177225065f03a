#include "gateway/app/log_keeper.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "gateway/base/log.hpp"
#include "gateway/config/files.hpp"
#include "gateway/storage/files.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::uint32_t kAtOnce = 5000;  // entries read, or pruned, in one step
constexpr unsigned kPasses = 40;         // of pruning, so that one round ends
constexpr std::size_t kMostNote = 64U << 10;

// The newest note in a text of several, of that log.
std::string last_note(std::string_view text, std::string_view origin) {
  const std::string begin = fmt::format("{}\n", origin);
  for (std::size_t at = text.rfind(begin); at != std::string_view::npos;
       at = at == 0 ? std::string_view::npos : text.rfind(begin, at - 1)) {
    if (at > 0 && text[at - 1] != '\n') continue;
    std::string_view note = text.substr(at);
    const std::size_t blank = note.find("\n\n");
    if (blank == std::string_view::npos) continue;
    std::size_t end = blank + 2;
    while (note.substr(end).starts_with("\xE2\x80\x94 ")) {  // lines of signatures
      const std::size_t line = note.find('\n', end);
      if (line == std::string_view::npos) return {};
      end = line + 1;
    }
    return std::string(note.substr(0, end));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<LogKeeper>> make_keeper(const Settings& settings, const StateFolder& folder, Store& store,
                                               const asio::any_io_executor& loop, Workers& workers) {
  auto key = folder.checkpoint_key();
  if (!key) return fail(key.error());
  Anchor anchor({settings.anchor_file, settings.anchor_command, settings.anchor_newest}, loop, workers);
  return std::make_unique<LogKeeper>(store, std::move(*key), folder.file(kCheckpointFile), std::move(anchor), workers,
                                     system_clock());
}

std::uint64_t tenth_of_disk(const std::string& folder) {
  struct statvfs system{};
  if (::statvfs(folder.c_str(), &system) != 0) return 0;
  return static_cast<std::uint64_t>(system.f_blocks) * system.f_frsize / 10;
}

Result<trust::MerkleTree> tree_at(Tx& tx, std::uint64_t size) {
  const PrunedRow pruned = tx.pruned();
  if (size < pruned.size)
    return fail(ErrorCode::not_found, fmt::format("the first {} entries were pruned", pruned.size));
  auto tree = trust::MerkleTree::from_bytes(pruned.size, pruned.edge);
  if (const auto row = tx.checkpoint(size); row && row->size >= pruned.size) {
    tree = trust::MerkleTree::from_bytes(row->size, row->edge);
  }
  if (!tree) return fail(ErrorCode::corrupt, "what the store keeps of the Merkle tree is damaged");
  while (tree->size() < size) {
    const std::uint64_t from = tree->size();
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(kAtOnce, size - from));
    tx.payloads(from, count, [&](std::string_view payload) { tree->append_payload(payload); });
    if (tree->size() == from) return fail(ErrorCode::conflict, fmt::format("the log has only {} entries", from));
  }
  return tree;
}

LogKeeper::LogKeeper(Store& store, trust::SigningKey key, std::string file, Anchor anchor, Workers& workers,
                     Clock& clock)
    : store_(store),
      key_(std::move(key)),
      file_(std::move(file)),
      anchor_(std::move(anchor)),
      workers_(workers),
      clock_(clock),
      left_(anchor_.loop()) {}

asio::awaitable<void> LogKeeper::enter() {
  while (busy_) co_await left_.wait(Deadline::after(std::chrono::minutes(1)));
  busy_ = true;
}

void LogKeeper::leave() {
  busy_ = false;
  left_.notify();
}

asio::awaitable<Status> LogKeeper::check_note(std::string text, std::string where) {
  const std::string origin = trust::checkpoint_origin(store_.log_id());
  const std::string note = last_note(text, origin);
  if (note.empty()) {
    if (!text.empty()) log::warning("checkpoint.foreign", {{"where", where}, {"log", store_.log_id()}});
    co_return Status{};
  }
  auto parsed = trust::parse_checkpoint(note);
  if (!parsed) co_return fail_in(where, parsed.error());
  if (!trust::verify_checkpoint(*parsed, key_.public_key())) {
    co_return fail(ErrorCode::forbidden,
                   fmt::format("{} holds a checkpoint that this gateway's `checkpoint.key` did not "
                               "sign: find out who did, or restore the key",
                               where));
  }
  const trust::Checkpoint saw = parsed->checkpoint;
  std::string wrong;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    wrong.clear();
    if (saw.size < tx.pruned().size) return {};
    if (saw.size > tx.log_size()) {
      wrong = fmt::format("the log has {} entries, and the checkpoint in {} saw {}", tx.log_size(), where, saw.size);
      return {};
    }
    const auto tree = tree_at(tx, saw.size);
    if (!tree) return fail(tree.error());
    if (tree->root() != saw.root) {
      wrong =
          fmt::format("the first {} entries of the log are not those that the checkpoint in {} saw", saw.size, where);
    }
    return {};
  });
  if (!read) co_return read;
  if (!wrong.empty()) {
    co_return fail(ErrorCode::conflict,
                   fmt::format("{}: the state folder was put back to an earlier time. Restore the newest, or let an "
                               "operator say `sallyport receipts checkpoint --accept-rollback --reason WHY`: then "
                               "every approval and key after that point counts as spent",
                               wrong));
  }
  co_return Status{};
}

asio::awaitable<Status> LogKeeper::check() {
  std::string at_hand;
  const std::function<void()> read = [&] {
    if (auto text = SystemFiles().read(file_, kMostNote)) at_hand = std::move(text->bytes);
  };
  co_await workers_.run(read);
  if (at_hand.empty()) {
    auto stored = co_await store_.read([&](Tx& tx) -> Status {
      if (const auto row = tx.checkpoint(~std::uint64_t{0} >> 1U)) at_hand = row->note;
      return {};
    });
    if (!stored) co_return stored;
  }
  if (auto good = co_await check_note(at_hand, "the state folder"); !good) co_return good;
  auto anchored = co_await anchor_.newest();
  if (!anchored) co_return fail(anchored.error());
  auto good = co_await check_note(std::move(*anchored), "the anchor");
  co_return good;
}

// Reads on the store's reading thread, a piece at a time.
asio::awaitable<Status> LogKeeper::catch_up() {
  if (tree_.size() == 0) {
    auto begun = co_await store_.read([&](Tx& tx) -> Status {
      const PrunedRow pruned = tx.pruned();
      const auto row = tx.checkpoint(tx.log_size());
      const std::uint64_t size = row ? std::max(row->size, pruned.size) : pruned.size;
      auto tree = tree_at(tx, size);
      if (!tree) return fail(tree.error());
      tree_ = std::move(*tree);
      return {};
    });
    if (!begun) co_return begun;
  }
  for (;;) {
    const std::uint64_t before = tree_.size();
    trust::MerkleTree tree = tree_;
    auto read = co_await store_.read([&](Tx& tx) -> Status {
      tx.payloads(before, kAtOnce, [&](std::string_view payload) { tree.append_payload(payload); });
      return {};
    });
    if (!read) co_return read;
    tree_ = std::move(tree);
    if (tree_.size() - before < kAtOnce) co_return Status{};
  }
}

asio::awaitable<Result<std::string>> LogKeeper::make() {
  co_await enter();
  auto made = co_await make_now();
  leave();
  co_return made;
}

asio::awaitable<Result<std::string>> LogKeeper::make_now() {
  auto caught = co_await catch_up();
  if (!caught) co_return fail(caught.error());
  const auto last =
      note_.empty() ? Result<trust::SignedCheckpoint>(fail(ErrorCode::not_found, "")) : trust::parse_checkpoint(note_);
  if (!last || last->checkpoint.size != tree_.size()) {
    const trust::Checkpoint now{trust::checkpoint_origin(store_.log_id()), tree_.size(), tree_.root()};
    CheckpointRow row{tree_.size(), tree_.edge_bytes(), trust::sign_checkpoint(now, key_), clock_.now()};
    // Synced, and with it every entry before it: an anchor must never know more than the disk.
    auto kept = co_await store_.commit(Durability::power, [&](Tx& tx) { return tx.put(row); });
    if (!kept) co_return fail(kept.error());
    note_ = row.note;
  }
  co_await publish();
  co_return note_;
}

asio::awaitable<void> LogKeeper::publish() {
  if (note_ == anchored_note_) co_return;
  Status kept;
  const std::function<void()> write = [&] { kept = atomic_write(file_, note_, 0644); };
  co_await workers_.run(write);
  if (kept) kept = co_await anchor_.add(note_);
  problem_ = kept ? std::string() : kept.error().message;
  if (kept) {
    anchored_note_ = note_;
  } else {
    log::error("checkpoint.not_anchored", {{"reason", problem_}});
  }
}

asio::awaitable<Result<std::uint64_t>> LogKeeper::prune(Retention retention,
                                                        std::function<trust::ReceiptBody()> receipt) {
  co_await enter();
  std::uint64_t gone = 0;
  Result<std::uint64_t> some = std::uint64_t{0};
  for (unsigned pass = 0; pass < kPasses; ++pass) {
    some = co_await prune_some(retention, receipt());
    if (!some || *some == 0) break;
    gone += *some;
  }
  if (gone > 0) {
    log::info("receipts.pruned", {{"entries", gone}});
    static_cast<void>(co_await make_now());
  }
  leave();
  if (!some) co_return fail(some.error());
  co_return gone;
}

asio::awaitable<Result<std::uint64_t>> LogKeeper::prune_some(Retention retention, trust::ReceiptBody receipt) {
  const UnixMillis oldest = clock_.now() - retention.age.count();
  std::uint64_t begin = 0, end = 0, covered = 0;
  std::string edge, why;
  auto looked = co_await store_.read([&](Tx& tx) -> Status {
    begin = tx.pruned().size;
    const auto row = tx.checkpoint(tx.log_size());
    if (!row) return {};
    covered = row->size;
    end = tx.first_since(oldest);
    why = "age";
    if (retention.bytes > 0 && tx.stored_bytes() > retention.bytes) {
      end = std::max(end, begin + kAtOnce);
      why = "size";
    }
    end = std::min({end, covered, begin + kAtOnce, tx.first_needed()});
    if (end <= begin) return {};
    const auto tree = tree_at(tx, end);
    if (!tree) return fail(tree.error());
    edge = tree->edge_bytes();
    receipt.event->details = {{"checkpoint", std::to_string(covered)},
                              {"edge", to_hex(edge)},
                              {"root", to_base64(trust::bytes_of(tree->root()))},
                              {"size", std::to_string(end)}};
    return {};
  });
  if (!looked) co_return fail(looked.error());
  if (end <= begin) co_return std::uint64_t{0};
  receipt.event->action = "pruned";
  receipt.event->reason = why;
  auto pruned = co_await store_.commit(Durability::power, [&](Tx& tx) -> Status {
    PrunedRow to{end, edge, {}};
    tx.payloads(end - 1, 1, [&](std::string_view payload) { to.prev = trust::digest_text(payload); });
    trust::ReceiptBody body = receipt;
    body.event->before = to.prev;
    auto appended = tx.append(std::move(body));
    if (!appended) return fail(appended.error());
    return tx.prune(to, oldest);
  });
  if (!pruned) co_return fail(pruned.error());
  co_return end - begin;
}

}  // namespace sallyport::gateway
