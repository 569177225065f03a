#include "gateway/app/log_keeper.hpp"

#include <fmt/format.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <charconv>

#include "gateway/base/log.hpp"
#include "gateway/config/files.hpp"
#include "gateway/storage/files.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/receipts/notes.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::uint32_t kAtOnce = 5000;  // entries read, or pruned, in one step
constexpr unsigned kPasses = 40;         // of pruning, so that one round ends
constexpr std::size_t kMostNote = 64U << 10;

// In the store: what was sent to the anchor, so that one that lost it is noticed.
constexpr std::string_view kMarkSetting = "receipts.anchor";

// Checkpoint keys of before, each with the number of entries that its checkpoints may cover.
constexpr std::string_view kFormerSetting = "checkpoint.keys";

std::string mark_text(const AnchorMark& mark, const std::string& place) {
  return fmt::format("{} {} {}", mark.size, mark.from, place);
}

// Of that place; another one holds nothing of ours yet.
AnchorMark read_mark(const std::string& text, const std::string& place) {
  const std::size_t first = text.find(' ');
  const std::size_t second = first == std::string::npos ? first : text.find(' ', first + 1);
  if (second == std::string::npos || text.substr(second + 1) != place) return {};
  AnchorMark mark;
  std::from_chars(text.data(), text.data() + first, mark.size);
  std::from_chars(text.data() + first + 1, text.data() + second, mark.from);
  return mark;
}

constexpr std::string_view kRemedy =
    "or let an operator say `sallyport receipts checkpoint --accept-rollback --reason WHY`: then every approval and "
    "key "
    "after that point counts as spent";

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

LogKeeper::Turn::~Turn() {
  keeper_.busy_ = false;
  keeper_.left_.notify();
}

asio::awaitable<void> LogKeeper::until_free() {
  while (busy_) co_await left_.wait(Deadline::after(std::chrono::minutes(1)));
}

asio::awaitable<Status> LogKeeper::check_note(std::string note, std::string where) {
  auto parsed = trust::parse_checkpoint(note);
  if (!parsed) co_return fail_in(where, parsed.error());
  Result<bool> known = trust::verify_checkpoint(*parsed, key_.public_key());
  if (!*known) known = co_await is_of_former(*parsed);
  if (!known) co_return fail(known.error());
  if (!*known) {
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
    co_return fail(
        ErrorCode::conflict,
        fmt::format("{}: the state folder was put back to an earlier time. Restore the newest, {}", wrong, kRemedy));
  }
  co_return Status{};
}

Result<std::vector<FormerKey>> former_checkpoint_keys(Tx& tx) {
  std::vector<FormerKey> out;
  const std::string kept = tx.setting(kFormerSetting).value_or("");
  for (std::string_view rest = kept; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t space = line.find(' ');
    std::uint64_t size = 0;
    std::from_chars(line.data(), line.data() + std::min(space, line.size()), size);
    const auto der = space == std::string_view::npos ? std::nullopt : from_base64(line.substr(space + 1));
    auto key = der ? trust::PublicKey::from_der(*der) : Result<trust::PublicKey>(fail(ErrorCode::corrupt, ""));
    if (!key) return fail(ErrorCode::corrupt, "what the store keeps of former checkpoint keys is damaged");
    out.push_back({std::move(*key), size});
  }
  return out;
}

AnchorMark anchor_mark(Tx& tx, const std::string& place) {
  return read_mark(tx.setting(kMarkSetting).value_or(""), place);
}

// Signed by a key that was changed since, over what was there then.
asio::awaitable<Result<bool>> LogKeeper::is_of_former(const trust::SignedCheckpoint& note) {
  Result<std::vector<FormerKey>> former;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    former = former_checkpoint_keys(tx);
    return former ? Status{} : Status(fail(former.error()));
  });
  if (!read) co_return fail(read.error());
  co_return std::ranges::any_of(*former, [&](const FormerKey& one) {
    return note.checkpoint.size <= one.size && trust::verify_checkpoint(note, one.key);
  });
}

Status LogKeeper::retire_key(Tx& tx, std::uint64_t size) const {
  std::string kept = tx.setting(kFormerSetting).value_or("");
  kept += fmt::format("{} {}\n", size, to_base64(key_.public_key().der()));
  return tx.put_setting(kFormerSetting, kept);
}

// The note beside the store, and the store's own: whichever of the two was put back alone is noticed.
asio::awaitable<Status> LogKeeper::check_folder() {
  const std::string origin = trust::checkpoint_origin(store_.log_id());
  std::vector<std::string> notes;
  const std::function<void()> read = [&] {
    trust::NoteReader reader([&](std::string note) { notes.push_back(std::move(note)); });
    if (auto text = SystemFiles().read(file_, kMostNote)) reader.feed(text->bytes);
    reader.finish();
  };
  co_await workers_.run(read);
  auto stored = co_await store_.read([&](Tx& tx) -> Status {
    if (const auto row = tx.checkpoint(~std::uint64_t{0} >> 1U)) notes.push_back(row->note);
    return {};
  });
  if (!stored) co_return stored;
  for (std::string& note : notes) {
    if (!note.starts_with(origin + "\n")) {
      log::warning("checkpoint.foreign", {{"where", file_}, {"log", store_.log_id()}});
      continue;
    }
    auto good = co_await check_note(std::move(note), "the state folder");
    if (!good) co_return good;
  }
  co_return Status{};
}

asio::awaitable<Status> LogKeeper::check_anchor() {
  if (anchor_.none()) co_return Status{};
  std::string kept;
  auto read = co_await store_.read([&](Tx& tx) -> Status {
    kept = tx.setting(kMarkSetting).value_or("");
    return {};
  });
  if (!read) co_return read;
  const AnchorMark mark = read_mark(kept, anchor_.place());
  auto view = co_await anchor_.look(trust::checkpoint_origin(store_.log_id()), mark.from);
  if (!view) co_return fail(view.error());
  if (!view->asked) co_return Status{};
  if (view->note.empty() && view->others > 0)
    log::warning("checkpoint.foreign", {{"where", anchor_.place()}, {"log", store_.log_id()}});
  const auto found = trust::parse_checkpoint(view->note);
  const std::uint64_t size = found ? found->checkpoint.size : 0;
  if (size < mark.size) {
    co_return fail(ErrorCode::conflict,
                   fmt::format("the anchor `{}` holds {}, and a checkpoint over {} entries was sent to it: it is not "
                               "mounted, or somebody took away from it. Bring it back, {}",
                               visible(anchor_.place()),
                               size == 0 ? "no checkpoint of this log" : fmt::format("none over more than {}", size),
                               mark.size, kRemedy));
  }
  if (view->note.empty()) co_return Status{};
  auto good = co_await check_note(std::move(view->note), "the anchor");
  co_return good;
}

asio::awaitable<Status> LogKeeper::check() {
  if (auto good = co_await check_folder(); !good) co_return good;
  auto good = co_await check_anchor();
  co_return good;
}

asio::awaitable<Status> LogKeeper::begin_anew() {
  if (anchor_.none()) co_return Status{};
  const auto view = co_await anchor_.look(trust::checkpoint_origin(store_.log_id()), 0);
  if (!view) co_return fail(view.error());
  const std::string mark = mark_text({0, view->end}, anchor_.place());
  auto kept = co_await store_.commit(Durability::power, [&](Tx& tx) { return tx.put_setting(kMarkSetting, mark); });
  co_return kept;
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
  co_await until_free();
  const Turn turn(*this);
  auto made = co_await make_now();
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
  if (kept) kept = co_await remember();
  problem_ = kept ? std::string() : kept.error().message;
  if (kept) {
    anchored_note_ = note_;
  } else {
    log::error("checkpoint.not_anchored", {{"reason", problem_}});
  }
}

// Only once it is there: that the anchor holds it is asked for at the next start.
asio::awaitable<Status> LogKeeper::remember() {
  const auto sent = trust::parse_checkpoint(note_);
  if (anchor_.none() || !sent) co_return Status{};
  const std::string place = anchor_.place();
  auto kept = co_await store_.commit(Durability::crash, [&](Tx& tx) -> Status {
    AnchorMark mark = read_mark(tx.setting(kMarkSetting).value_or(""), place);
    mark.size = sent->checkpoint.size;
    return tx.put_setting(kMarkSetting, mark_text(mark, place));
  });
  co_return kept;
}

asio::awaitable<Result<std::uint64_t>> LogKeeper::prune(Retention retention,
                                                        std::function<trust::ReceiptBody()> receipt) {
  co_await until_free();
  const Turn turn(*this);
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
  if (!some) co_return fail(some.error());
  co_return gone;
}

asio::awaitable<Result<std::uint64_t>> LogKeeper::prune_some(Retention retention, trust::ReceiptBody receipt) {
  const UnixMillis now = clock_.now();
  const UnixMillis oldest = now - retention.age.count();
  // A key that the log has forgotten is still that operation's: its repeat must not run again.
  const UnixMillis known = now - retention.operations.count();
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
    return tx.prune(to, std::min(oldest, known));
  });
  if (!pruned) co_return fail(pruned.error());
  co_return end - begin;
}

}  // namespace sallyport::gateway
