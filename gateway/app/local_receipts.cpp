// `receipts verify | export | key | prove | duplicates` and `token new`: what needs no owner.
#include <cstdio>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "gateway/app/anchor.hpp"
#include "gateway/app/credentials.hpp"
#include "gateway/app/duplicates.hpp"
#include "gateway/app/local_commands.hpp"
#include "gateway/app/local_log.hpp"
#include "gateway/app/log_keeper.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/cli/verify_file.hpp"
#include "gateway/config/files.hpp"
#include "gateway/config/load.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

// What stood before the first entry, by the receipt that says so: the store's own word for it is nobody's signature.
Status find_pruned(ReadOnlyStore& store, trust::VerifyOptions& options) {
  std::uint64_t first = 0;
  ReceiptFilter oldest;
  oldest.newest_first = false;
  oldest.limit = 1;
  const Status looked = store.each_receipt(oldest, [&](const ReceiptRow& row) {
    first = row.seq;
    return false;
  });
  if (!looked || first == 0) return looked;
  ReceiptFilter prunings;
  prunings.kind = to_string(trust::ReceiptKind::log);
  prunings.limit = std::numeric_limits<std::uint32_t>::max();
  return store.each_receipt(prunings, [&](const ReceiptRow& row) {
    auto base = trust::pruned_by(row.payload);
    if (!base || base->tree.size() != first) return true;
    options.pruned = std::move(base->tree);
    options.pruned_prev = std::move(base->prev);
    return false;
  });
}

// The keys that the folder has, as its own gateway uses them.
Status own_checkpoint_keys(const std::string& folder, ReadOnlyStore& store, trust::VerifyOptions& options) {
  auto pem = SystemFiles().read(folder + "/checkpoint.pub", 64U << 10);
  auto key = pem ? trust::PublicKey::from_pem(pem->bytes) : Result<trust::PublicKey>(fail(pem.error()));
  if (key) options.checkpoint_keys.push_back(std::move(*key));
  return store.read([&](Tx& tx) -> Status {
    auto former = former_checkpoint_keys(tx);
    if (!former) return fail(former.error());
    for (FormerKey& one : *former) options.checkpoint_keys.push_back(std::move(one.key));
    return {};
  });
}

// Of the config that speaks of this folder; a folder named without one may be anybody's.
AnchorSettings configured_anchor(const cli::Invocation& invocation) {
  if (!invocation.state.empty() && invocation.config.empty()) return {};
  auto request = settings_request(invocation);
  if (!request) return {};
  const LoadedSettings loaded = load_settings(*request, process_environment(), SystemFiles());
  if (!loaded.readable) return {};
  return {loaded.readable->anchor_file, loaded.readable->anchor_command, loaded.readable->anchor_newest};
}

// The newest note of the anchor, as a start would judge it. How many entries it covers; 0: it says nothing.
Result<std::uint64_t> ask_anchor(const AnchorSettings& anchor, ReadOnlyStore& store, trust::VerifyOptions& options,
                                 cli::Terminal& terminal) {
  if (anchor.file.empty()) {
    if (!anchor.none())
      terminal.err("the anchor is a command, and was not looked at: give what it holds with --checkpoint\n");
    return std::uint64_t{0};
  }
  AnchorMark mark;
  const Status read = store.read([&](Tx& tx) -> Status {
    mark = anchor_mark(tx, anchor.file);
    return {};
  });
  if (!read) return fail(read.error());
  auto view = look_in_anchor(anchor.file, trust::checkpoint_origin(store.log_id()), mark.from);
  if (!view) return fail(view.error());
  if (mark.from > 0)
    terminal.err(
        fmt::format("what `{}` held before a rollback was accepted was not looked at\n", visible(anchor.file)));
  auto note = trust::parse_checkpoint(view->note);
  const std::uint64_t size = note ? note->checkpoint.size : 0;
  if (size < mark.size) {
    return fail(ErrorCode::conflict,
                fmt::format("the anchor `{}` holds no checkpoint over {} entries, and one was sent to it: it is not "
                            "mounted, or somebody took away from it",
                            visible(anchor.file), mark.size));
  }
  if (note) options.checkpoints.push_back(std::move(*note));
  return size;
}

// What lies beside the log proves nothing of its end, but must not contradict it.
void add_beside(const std::string& folder, trust::VerifyOptions& options) {
  auto note = SystemFiles().read(folder + "/" + std::string(kCheckpointFile), 64U << 10);
  if (!note) return;
  auto own = trust::parse_checkpoint(note->bytes);
  if (own && own->checkpoint.size > options.anchors_to) options.checkpoints.push_back(std::move(*own));
}

// The log of a state folder, judged by the keys that the folder has, by what the anchor of its config holds, and by
// what the invocation names in place of these.
int verify_state(const cli::Invocation& invocation, const std::string& folder, ReadOnlyStore& store,
                 cli::Terminal& terminal) {
  auto options = cli::verify_options(invocation);
  if (!options) return cli::complain(terminal, options.error().message);
  if (options->keys.empty()) options->keys = store.receipt_keys();
  options->log = store.log_id();
  if (options->checkpoint_keys.empty()) {
    if (auto added = own_checkpoint_keys(folder, store, *options); !added)
      return cli::complain(terminal, added.error().message);
  }
  bool anchor_lost = false;
  if (options->checkpoints.empty()) {
    auto anchored = ask_anchor(configured_anchor(invocation), store, *options, terminal);
    if (!anchored) terminal.err("sallyport: " + anchored.error().message + "\n");
    anchor_lost = !anchored;
    options->anchors_to = anchored.value_or(0);
    add_beside(folder, *options);
  }
  if (Status based = find_pruned(store, *options); !based) return cli::complain(terminal, based.error().message);
  cli::VerifyRun run(std::move(*options));
  ReceiptFilter all;
  all.newest_first = false;
  all.limit = std::numeric_limits<std::uint32_t>::max();
  const Status read = store.each_receipt(all, [&](const ReceiptRow& row) {
    run.line(row.envelope);
    return true;
  });
  if (!read) return cli::complain(terminal, read.error().message);
  const int judged = run.finish(terminal, invocation.json);
  return anchor_lost && judged == cli::kYes ? cli::kNo : judged;
}

int export_log(const cli::Invocation& invocation, ReadOnlyStore& store, cli::Terminal& terminal) {
  std::ofstream file;
  const bool to_file = !invocation.file.empty() && invocation.file != "-";
  if (to_file) {
    file.open(invocation.file, std::ios::binary | std::ios::trunc);
    if (!file) return cli::complain(terminal, fmt::format("`{}` cannot be written", invocation.file));
  }
  ReceiptFilter all;
  all.newest_first = false;
  all.limit = std::numeric_limits<std::uint32_t>::max();
  std::size_t lines = 0;
  bool good = true;
  const Status read = store.each_receipt(all, [&](const ReceiptRow& row) {
    ++lines;
    if (to_file) {
      good = static_cast<bool>(file << row.envelope << '\n');
    } else {
      good = std::fwrite(row.envelope.data(), 1, row.envelope.size(), stdout) == row.envelope.size() &&
             std::fputc('\n', stdout) != EOF;
    }
    return good;
  });
  if (!read) return cli::complain(terminal, read.error().message);
  if (to_file) file.flush();
  if (!good || (to_file && !file)) return cli::complain(terminal, "the export could not be written in full");
  if (to_file) terminal.err(fmt::format("{} receipts written to {}\n", lines, invocation.file));
  return cli::kYes;
}

// The public keys of the log, oldest first, or that of its checkpoints.
int print_keys(const cli::Invocation& invocation, const std::string& folder, ReadOnlyStore& store,
               cli::Terminal& terminal) {
  std::vector<trust::PublicKey> keys = store.receipt_keys();
  const std::string origin = trust::checkpoint_origin(store.log_id());
  if (invocation.checkpoint_key) {
    auto pem = SystemFiles().read(folder + "/checkpoint.pub", 64U << 10);
    if (!pem) return cli::complain(terminal, pem.error().message);
    auto key = trust::PublicKey::from_pem(pem->bytes);
    if (!key) return cli::complain(terminal, key.error().message);
    keys = {std::move(*key)};
  }
  if (!invocation.json) {
    for (const trust::PublicKey& key : keys) terminal.out(key.pem());
    return cli::kYes;
  }
  std::string out;
  for (const trust::PublicKey& key : keys) {
    out += fmt::format("{}{{\"keyid\":{},\"pem\":{}", out.empty() ? "" : ",", quote(key.keyid()), quote(key.pem()));
    if (invocation.checkpoint_key) out += fmt::format(",\"verifierKey\":{}", quote(trust::verifier_key(origin, key)));
    out += "}";
  }
  terminal.out(fmt::format("{{\"keys\":[{}],\"log\":{}}}\n", out, quote(store.log_id())));
  return cli::kYes;
}

// The receipt in the first line, its proof in the rest.
int prove(const cli::Invocation& invocation, const std::string& folder, ReadOnlyStore& store, cli::Terminal& terminal) {
  auto note = SystemFiles().read(folder + "/" + std::string(kCheckpointFile), 64U << 10);
  auto checkpoint = note ? trust::parse_checkpoint(note->bytes) : Result<trust::SignedCheckpoint>(fail(note.error()));
  if (!checkpoint)
    return cli::complain(terminal, checkpoint.error().message, "make one: `sallyport receipts checkpoint`");
  const std::uint64_t size = checkpoint->checkpoint.size;
  std::string text;
  const Status read = store.read([&](Tx& tx) -> Status {
    const auto row = tx.receipt(invocation.id);
    if (!row) return fail(ErrorCode::not_found, "there is no receipt `" + visible(invocation.id) + "`");
    if (row->seq >= size) {
      return fail(ErrorCode::conflict, "no checkpoint covers it yet: make one with `sallyport receipts checkpoint`");
    }
    trust::InclusionProver prover(row->seq, size);
    const PrunedRow pruned = tx.pruned();
    auto before = trust::MerkleTree::from_bytes(pruned.size, pruned.edge);
    if (!before) return fail(before.error());
    prover.begin_after(*before);
    const auto count = static_cast<std::uint32_t>(std::min<std::uint64_t>(size - pruned.size, 0xffffffffU));
    tx.payloads(pruned.size, count, [&](std::string_view payload) { prover.add(trust::leaf_hash(payload)); });
    auto proof = prover.proof();
    if (!proof) return fail(proof.error());
    const trust::Sha256 leaf = trust::leaf_hash(row->payload);
    if (!trust::verify_inclusion(leaf, row->seq, size, *proof, checkpoint->checkpoint.root))
      return fail(ErrorCode::conflict, "the log is not the one that its checkpoint saw: `receipts verify` says more");
    text = row->envelope + "\n" + trust::proof_text(row->seq, *proof, note->bytes);
    return {};
  });
  if (!read) {
    terminal.err("sallyport: " + read.error().message + "\n");
    return read.error().code == ErrorCode::not_found || read.error().code == ErrorCode::conflict ? cli::kNo
                                                                                                 : cli::kCouldNot;
  }
  if (!invocation.file.empty() && invocation.file != "-") {
    if (auto written = atomic_write(invocation.file, text, 0644); !written)
      return cli::complain(terminal, written.error().message);
    return cli::kYes;
  }
  if (invocation.json) {
    const std::size_t end = text.find('\n');
    terminal.out(fmt::format("{{\"proof\":{},\"receipt\":{}}}\n", quote(text.substr(end + 1)), text.substr(0, end)));
  } else {
    terminal.out(text);
  }
  return cli::kYes;
}

}  // namespace

int receipts_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  using enum cli::Command;
  if (invocation.command == receipts_key && invocation.rotate) return rotate_key_command(invocation, terminal);
  if (invocation.command == receipts_checkpoint)
    return invocation.accept_rollback ? accept_rollback_command(invocation, terminal)
                                      : newest_checkpoint_command(invocation, terminal);
  if (invocation.command == receipts_verify && !invocation.proof_file.empty())
    return cli::verify_proof(invocation, terminal);
  if (invocation.command == receipts_verify && !invocation.file.empty()) return cli::verify_file(invocation, terminal);
  auto folder = state_folder_of(invocation);
  if (!folder) return cli::complain(terminal, folder.error().message, "name the state folder with --state");
  auto store = open_read_only(*folder);
  if (!store) return cli::complain(terminal, store.error().message);
  switch (invocation.command) {
    case receipts_key:
      return print_keys(invocation, *folder, **store, terminal);
    case receipts_prove:
      return prove(invocation, *folder, **store, terminal);
    case receipts_duplicates:
      return duplicates_command(invocation, **store, terminal);
    case receipts_export:
      return export_log(invocation, **store, terminal);
    default:
      return verify_state(invocation, *folder, **store, terminal);
  }
}

int token_new_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const NewToken made = new_token(system_entropy());
  if (invocation.json) {
    terminal.out(fmt::format("{{\"token\":{},\"tokenSha256\":{}}}\n", quote(made.token), quote(made.sha256)));
  } else {
    terminal.out(fmt::format("token        {}\ntokenSha256  {}\n", made.token, made.sha256));
    terminal.err("The token is for whoever presents it; the config takes tokenSha256.\n");
  }
  return cli::kYes;
}

}  // namespace sallyport::gateway
