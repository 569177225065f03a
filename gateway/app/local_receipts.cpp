// `receipts verify | export | key` and `token new`: what needs no owner.
#include <cstdio>
#include <fstream>
#include <limits>

#include <fmt/format.h>

#include "gateway/app/credentials.hpp"
#include "gateway/app/local_commands.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/cli/verify_file.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

// The log of a state folder, judged by the keys that the folder has, and by those that the invocation names if there
// are any.
int verify_state(const cli::Invocation& invocation, ReadOnlyStore& store, cli::Terminal& terminal) {
  auto options = cli::verify_options(invocation);
  if (!options) return cli::complain(terminal, options.error().message);
  if (options->keys.empty()) options->keys = store.receipt_keys();
  cli::VerifyRun run(std::move(*options));
  ReceiptFilter all;
  all.newest_first = false;
  all.limit = std::numeric_limits<std::uint32_t>::max();
  const Status read = store.each_receipt(all, [&](const ReceiptRow& row) {
    run.line(row.envelope);
    return true;
  });
  if (!read) return cli::complain(terminal, read.error().message);
  return run.finish(terminal, invocation.json);
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

}  // namespace

int receipts_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  if (invocation.command == cli::Command::receipts_verify && !invocation.file.empty())
    return cli::verify_file(invocation, terminal);
  auto folder = state_folder_of(invocation);
  if (!folder) return cli::complain(terminal, folder.error().message, "name the state folder with --state");
  auto store = open_read_only(*folder);
  if (!store) return cli::complain(terminal, store.error().message);
  if (invocation.command == cli::Command::receipts_key) {
    for (const trust::PublicKey& key : (*store)->receipt_keys()) terminal.out(key.pem());
    return cli::kYes;
  }
  return invocation.command == cli::Command::receipts_export ? export_log(invocation, **store, terminal)
                                                             : verify_state(invocation, **store, terminal);
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
