#include "gateway/cli/verify_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "schemas/core/encoding.hpp"
#include "trust/receipts/envelope.hpp"
#include "trust/receipts/notes.hpp"

namespace sallyport::gateway::cli {
namespace {

constexpr std::size_t kBatchLines = 4096;
constexpr std::size_t kBatchBytes = 32U << 20;
constexpr std::size_t kMostLine = 16U << 20;  // what is longer is cut, and then is no receipt
constexpr std::size_t kMostFile = 16U << 20;  // of keys and checkpoints

Result<std::string> read_small(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(ErrorCode::io, "cannot read `" + path + "`: " + std::generic_category().message(errno));
  std::string text;
  std::string chunk(64U << 10, '\0');
  while (file.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || file.gcount() > 0) {
    text.append(chunk, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > kMostFile) return fail(ErrorCode::limit, "`" + path + "` is too large");
  }
  if (file.bad()) return fail(ErrorCode::io, "cannot read `" + path + "`");
  return text;
}

Status add_keys(const std::string& path, std::vector<trust::PublicKey>& into) {
  constexpr std::string_view kBegin = "-----BEGIN PUBLIC KEY-----";
  constexpr std::string_view kEnd = "-----END PUBLIC KEY-----";
  auto text = read_small(path);
  if (!text) return fail(text.error());
  std::size_t at = text->find(kBegin);
  if (at == std::string::npos) return fail(ErrorCode::invalid, "`" + path + "` holds no public key in PEM");
  while (at != std::string::npos) {
    const std::size_t end = text->find(kEnd, at);
    if (end == std::string::npos) return fail(ErrorCode::invalid, "`" + path + "`: a public key is cut off");
    auto key = trust::PublicKey::from_pem(text->substr(at, end + kEnd.size() - at) + "\n");
    if (!key) return fail_in("`" + path + "`", key.error());
    into.push_back(std::move(*key));
    at = text->find(kBegin, end);
  }
  return {};
}

// Signed notes one after the other. One that a crash cut off proves nothing, and is passed over.
Status add_checkpoints(const std::string& path, std::vector<trust::SignedCheckpoint>& into) {
  auto text = read_small(path);
  if (!text) return fail(text.error());
  if (!text->ends_with('\n')) *text += '\n';
  Status added;
  std::size_t notes = 0;
  trust::NoteReader reader([&](const std::string& note) {
    ++notes;
    auto checkpoint = trust::parse_checkpoint(note);
    if (checkpoint) {
      into.push_back(std::move(*checkpoint));
    } else if (added) {
      added = fail_in("`" + path + "`", checkpoint.error());
    }
  });
  reader.feed(*text);
  reader.finish();
  if (added && notes == 0) return fail(ErrorCode::invalid, "`" + path + "` holds no checkpoint");
  return added;
}

// Lines of a descriptor, of any length, in pieces of bounded size; until `take` says false.
Status each_line(int fd, const std::string& name, const std::function<bool(std::string)>& take) {
  std::string line;
  std::string chunk(256U << 10, '\0');
  for (;;) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::io, "cannot read `" + name + "`: " + std::generic_category().message(errno));
    if (got == 0) break;
    std::string_view rest(chunk.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const std::size_t end = rest.find('\n');
      const std::string_view piece = rest.substr(0, end);
      line.append(piece.substr(0, kMostLine - std::min(kMostLine, line.size())));
      if (end == std::string_view::npos) break;
      if (!take(std::move(line))) return {};
      line.clear();
      rest.remove_prefix(end + 1);
    }
  }
  if (!line.empty()) take(std::move(line));
  return {};
}

// A log that does not begin at 0 has a receipt further on that says what was before: looked for in a pass of its own.
void find_pruned(int fd, const std::string& name, trust::VerifyOptions& options) {
  std::optional<std::uint64_t> first;
  std::optional<trust::PrunedBase> found;
  const auto look = [&](std::string line) {
    if (!first) {
      const trust::CheckedLine checked = trust::check_line(line, options);
      if (checked.bad_form || checked.seq == 0) return false;
      first = checked.seq;
    }
    auto envelope = trust::parse_envelope(std::move(line));
    if (!envelope) return true;
    auto base = trust::pruned_by(envelope->payload);
    if (base && base->tree.size() == *first) found = std::move(base);
    return true;
  };
  static_cast<void>(each_line(fd, name, look));
  static_cast<void>(::lseek(fd, 0, SEEK_SET));
  if (!found) return;  // then what is missing is a gap
  options.pruned = std::move(found->tree);
  options.pruned_prev = std::move(found->prev);
}

// Whether the log goes on behind something that is not in it.
bool begins_later(const std::string& line, const trust::VerifyOptions& options) {
  trust::VerifyOptions form = options;
  form.signatures = false;
  const trust::CheckedLine checked = trust::check_line(line, form);
  return !checked.bad_form && checked.seq > 0;
}

// A file without a name, for what has to be read twice and can only be read once. -1: errno tells.
int nameless_file() {
  const char* folder = std::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != '\0' ? folder : "/tmp") + "/sallyport-verify-XXXXXX";
  const int fd = ::mkostemp(path.data(), O_CLOEXEC);
  if (fd >= 0) ::unlink(path.c_str());
  return fd;
}

bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

Status verify_lines(int fd, const std::string& name, VerifyRun& run) {
  return each_line(fd, name, [&run](std::string line) {
    run.line(std::move(line));
    return true;
  });
}

// In one pass; but where a log that is no file begins behind what was pruned, it is put into one, for two.
Status verify_stream(int fd, const std::string& name, trust::VerifyOptions options, std::unique_ptr<VerifyRun>& run) {
  int kept = -1;
  Status kept_well;
  const Status read = each_line(fd, name, [&](std::string line) {
    if (!run && kept < 0) {
      if (begins_later(line, options)) {
        kept = nameless_file();
        if (kept < 0) kept_well = fail(ErrorCode::io, "no temporary file: " + std::generic_category().message(errno));
      } else {
        run = std::make_unique<VerifyRun>(std::move(options));
      }
    }
    if (run) {
      run->line(std::move(line));
    } else if (kept_well && !write_all(kept, line += '\n')) {
      kept_well = fail(ErrorCode::io, "a temporary file: " + std::generic_category().message(errno));
    }
    return kept_well.has_value();
  });
  if (kept < 0) {
    if (!run) run = std::make_unique<VerifyRun>(std::move(options));  // not one line
    return read && !kept_well ? kept_well : read;
  }
  Status done = read && !kept_well ? kept_well : read;
  if (done && ::lseek(kept, 0, SEEK_SET) == 0) {
    find_pruned(kept, name, options);
    run = std::make_unique<VerifyRun>(std::move(options));
    done = verify_lines(kept, name, *run);
  }
  ::close(kept);
  return done;
}

}  // namespace

struct VerifyRun::State {
  State(trust::VerifyOptions options, unsigned count) : verifier(std::move(options)), threads(count) {}

  // Judges what has gathered, on all threads, and takes it over in order.
  void flush() {
    std::vector<trust::CheckedLine> checked(batch.size());
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < batch.size(); i = next++) {
        checked[i] = trust::check_line(std::move(batch[i]), verifier.options());
      }
    };
    {
      std::vector<std::jthread> helpers;
      const std::size_t useful = std::min<std::size_t>(threads, batch.size() / 64 + 1);
      for (std::size_t i = 1; i < useful; ++i) helpers.emplace_back(work);
      work();
    }
    for (trust::CheckedLine& one : checked) verifier.accept(std::move(one));
    batch.clear();
    bytes = 0;
  }

  trust::Verifier verifier;
  unsigned threads;
  std::vector<std::string> batch;
  std::size_t bytes = 0;
};

VerifyRun::VerifyRun(trust::VerifyOptions options, unsigned threads)
    : state_(std::make_unique<State>(std::move(options),
                                     threads > 0 ? threads : std::max(1U, std::thread::hardware_concurrency()))) {}
VerifyRun::~VerifyRun() = default;

void VerifyRun::line(std::string text) {
  state_->bytes += text.size();
  state_->batch.push_back(std::move(text));
  if (state_->batch.size() >= kBatchLines || state_->bytes >= kBatchBytes) state_->flush();
}

void VerifyRun::flush() { state_->flush(); }

trust::VerifyReport VerifyRun::finish() {
  state_->flush();
  return state_->verifier.finish();
}

int VerifyRun::finish(Terminal& terminal, bool json) {
  const trust::VerifyReport report = finish();
  terminal.out(json ? trust::to_json(report) : trust::to_text(report));
  return report.ok() ? kYes : kNo;
}

Result<trust::VerifyOptions> verify_options(const Invocation& invocation) {
  trust::VerifyOptions options;
  options.signatures = invocation.signatures;
  for (const std::string& path : invocation.key_files) {
    if (auto added = add_keys(path, options.keys); !added) return fail(added.error());
  }
  for (const std::string& path : invocation.checkpoint_key_files) {
    if (auto added = add_keys(path, options.checkpoint_keys); !added) return fail(added.error());
  }
  for (const std::string& path : invocation.checkpoint_files) {
    if (auto added = add_checkpoints(path, options.checkpoints); !added) return fail(added.error());
  }
  return options;
}

int verify_proof(const Invocation& invocation, Terminal& terminal) {
  auto options = verify_options(invocation);
  if (!options) return complain(terminal, options.error().message);
  if (options->checkpoint_keys.empty())
    return complain(terminal, "name the public key of checkpoints with --checkpoint-key, one that was kept elsewhere");
  auto text = read_small(invocation.proof_file);
  if (!text) return complain(terminal, text.error().message);
  const std::size_t end = text->find('\n');
  const trust::CheckedLine line = trust::check_line(text->substr(0, end), *options);
  if (line.bad_form) return complain(terminal, "its first line is no receipt: " + *line.bad_form);
  auto proof =
      trust::parse_proof(end == std::string::npos ? std::string_view() : std::string_view(*text).substr(end + 1));
  if (!proof) return complain(terminal, proof.error().message);
  std::string fault;
  if (!options->keys.empty() && options->signatures && !line.signature_ok)
    fault = "the receipt is not signed by a given key";
  if (proof->index != line.seq) fault = "the proof is of another entry";
  Status proven = fail(ErrorCode::invalid, "");
  for (const trust::PublicKey& key : options->checkpoint_keys) {
    if (!proven) proven = trust::verify_proof(*proof, line.payload, key);
  }
  if (fault.empty() && !proven) fault = proven.error().message;
  if (fault.empty() && proof->checkpoint.checkpoint.origin != trust::checkpoint_origin(line.log))
    fault = "the checkpoint is of another log";
  if (options->keys.empty()) terminal.err("the receipt's own signature was not checked: name its key with --key\n");
  if (invocation.json) {
    terminal.out(fmt::format("{{\"ok\":{},\"problem\":{},\"receipt\":{},\"seq\":{}}}\n", fault.empty(), quote(fault),
                             quote(line.id), line.seq));
  } else {
    terminal.out(fault.empty() ? fmt::format("receipt {} is entry {} of log {}: ok\n", visible(line.id), line.seq,
                                             visible(line.log))
                               : fault + "\n");
  }
  return fault.empty() ? kYes : kNo;
}

int verify_file(const Invocation& invocation, Terminal& terminal) {
  auto options = verify_options(invocation);
  if (!options) return complain(terminal, options.error().message);
  if (options->keys.empty() && options->signatures) {
    return complain(terminal, "name the public key of the receipts with --key, one that was kept elsewhere",
                    "`sallyport receipts key` prints it; --no-signatures judges form, chain and content alone.");
  }
  int fd = STDIN_FILENO;
  if (invocation.file != "-") {
    fd = ::open(invocation.file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      return complain(terminal,
                      "cannot read `" + visible(invocation.file) + "`: " + std::generic_category().message(errno));
    }
  }
  const std::string name = visible(invocation.file);
  std::unique_ptr<VerifyRun> run;
  Status read;
  if (::lseek(fd, 0, SEEK_CUR) == 0) {
    find_pruned(fd, name, *options);
    run = std::make_unique<VerifyRun>(std::move(*options));
    read = verify_lines(fd, name, *run);
  } else {
    read = verify_stream(fd, name, std::move(*options), run);
  }
  if (fd != STDIN_FILENO) ::close(fd);
  if (!read) return complain(terminal, read.error().message);
  if (!invocation.signatures) terminal.err("signatures were not checked\n");
  return run->finish(terminal, invocation.json);
}

}  // namespace sallyport::gateway::cli
