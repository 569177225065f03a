#include "gateway/app/anchor.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "gateway/servers/child_process.hpp"
#include "gateway/servers/environment.hpp"
#include "gateway/storage/files.hpp"
#include "trust/receipts/merkle.hpp"
#include "trust/receipts/notes.hpp"

namespace sallyport::gateway {
namespace {

constexpr auto kWait = std::chrono::seconds(30);
constexpr std::size_t kMostOutput = 64U << 10;
constexpr std::size_t kPiece = 256U << 10;

Status write_note(const FileHandle& file, const std::string& path, std::string_view note) {
  while (!note.empty()) {
    const ssize_t wrote = ::write(file.get(), note.data(), note.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return fail_errno("cannot write the anchor", path);
    note.remove_prefix(static_cast<std::size_t>(wrote));
  }
  if (::fsync(file.get()) != 0) return fail_errno("cannot sync the anchor", path);
  return {};
}

Status add_to_file(const std::string& path, std::string note) {
  const FileHandle file(::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!file.valid()) return fail_errno("cannot open the anchor", path);
  struct stat info{};
  char last = '\n';
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot read the anchor", path);
  if (info.st_size > 0 && ::pread(file.get(), &last, 1, info.st_size - 1) != 1)
    return fail_errno("cannot read the anchor", path);
  if (last != '\n') note.insert(0, 1, '\n');  // behind what a crash cut off
  return write_note(file, path, note);
}
// Keeps the note over the most entries, among those of one log.
class Largest {
 public:
  Largest(std::string origin, AnchorView& into) : origin_(std::move(origin)), into_(into) {}

  void feed(std::string_view text) { reader_.feed(text); }
  void finish() {
    reader_.finish();
    into_.others += reader_.torn();
  }

 private:
  void take(std::string note) {
    const auto parsed = trust::parse_checkpoint(note);
    if (!parsed || parsed->checkpoint.origin != origin_) {
      ++into_.others;
    } else if (into_.note.empty() || parsed->checkpoint.size >= size_) {
      size_ = parsed->checkpoint.size;
      into_.note = std::move(note);
    }
  }

  std::string origin_;
  AnchorView& into_;
  std::uint64_t size_ = 0;
  trust::NoteReader reader_{[this](std::string note) { take(std::move(note)); }};
};

}  // namespace

Result<AnchorView> look_in_anchor(const std::string& path, std::string origin, std::uint64_t from) {
  AnchorView view;
  view.asked = true;
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid() && errno == ENOENT) return view;
  if (!file.valid()) return fail_errno("cannot open the anchor", path);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot read the anchor", path);
  view.end = static_cast<std::uint64_t>(info.st_size);
  Largest largest(std::move(origin), view);
  std::string piece(kPiece, '\0');
  for (std::uint64_t at = from <= view.end ? from : 0;;) {
    const ssize_t got = ::pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read the anchor", path);
    if (got == 0) break;
    largest.feed(std::string_view(piece.data(), static_cast<std::size_t>(got)));
    at += static_cast<std::uint64_t>(got);
  }
  largest.finish();
  return view;
}

asio::awaitable<Status> Anchor::add(std::string note) {
  if (!settings_.file.empty()) {
    Status added;
    const std::function<void()> write = [&] { added = add_to_file(settings_.file, std::move(note)); };
    co_await workers_.run(write);
    co_return added;
  }
  if (settings_.command.empty()) co_return Status{};
  const auto ran = co_await run(settings_.command, std::move(note));
  if (!ran) co_return fail(ran.error());
  co_return Status{};
}

asio::awaitable<Result<AnchorView>> Anchor::look(std::string origin, std::uint64_t from) {
  if (!settings_.file.empty()) {
    Result<AnchorView> view;
    const std::function<void()> read = [&] { view = look_in_anchor(settings_.file, origin, from); };
    co_await workers_.run(read);
    co_return view;
  }
  AnchorView view;
  if (settings_.newest.empty()) co_return view;
  const auto printed = co_await run(settings_.newest, {});
  if (!printed) co_return fail(printed.error());
  if (printed->size() >= kMostOutput)
    co_return fail(ErrorCode::invalid, "the anchor's command prints more than a few checkpoints");
  view.asked = true;
  Largest largest(std::move(origin), view);
  largest.feed(*printed);
  largest.finish();
  co_return view;
}

std::string Anchor::place() const {
  if (!settings_.file.empty()) return settings_.file;
  std::string words;
  for (const std::string& word : settings_.command) words += word + " ";
  return words;
}

asio::awaitable<Result<std::string>> Anchor::run(std::vector<std::string> command, std::string input) {
  servers::ChildSpec spec;
  spec.environment = servers::child_environment(servers::allowed_environment(), {});
  auto program = servers::resolve_command(command.front(), spec.environment, {});
  if (!program) co_return fail_in("the anchor", program.error());
  spec.program = std::move(*program);
  spec.arguments = std::move(command);
  auto spawned = servers::ChildProcess::spawn(loop_, spec);
  if (!spawned) co_return fail_in("the anchor", spawned.error());
  const std::unique_ptr<servers::ChildProcess> child = std::move(*spawned);
  const Deadline deadline = Deadline::after(kWait);
  for (std::string_view rest = input; !rest.empty();) {
    const Result<std::size_t> wrote = child->write_some(rest);
    if (!wrote) break;  // it may end without having read all; its exit code says whether that was right
    rest.remove_prefix(*wrote);
    if (*wrote > 0) continue;
    const Status writable = co_await child->wait_writable(deadline);
    if (!writable) break;
  }
  child->close_in();
  std::string text;
  std::array<char, 4096> chunk;  // NOLINT: filled by the read
  for (;;) {
    const Result<std::size_t> got = co_await child->out().read_some(chunk, deadline);
    if (!got || *got == 0) break;
    if (text.size() < kMostOutput) text.append(chunk.data(), *got);
  }
  const bool ended = co_await child->wait_exit(deadline);
  const std::string how = co_await child->bury(Millis(0));
  if (!ended)
    co_return fail(ErrorCode::timeout, fmt::format("the anchor's command `{}` did not end in time", spec.program));
  if (child->exit_status() != 0)
    co_return fail(ErrorCode::unavailable, fmt::format("the anchor's command `{}` failed: {}", spec.program, how));
  co_return text;
}

}  // namespace sallyport::gateway
