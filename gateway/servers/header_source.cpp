#include "gateway/servers/header_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "gateway/base/known_secrets.hpp"
#include "gateway/servers/child_process.hpp"
#include "gateway/servers/environment.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxValue = 16U << 10;
constexpr std::chrono::seconds kFileKeep{1};
constexpr std::chrono::seconds kCommandKeep{30};
constexpr std::chrono::seconds kCommandWait{10};
constexpr std::array<std::string_view, 13> kOwned{
    "accept",           "accept-encoding", "connection", "content-length", "content-type",         "host",
    "idempotency-key",  "last-event-id",   "mcp-method", "mcp-name",       "mcp-protocol-version", "mcp-session-id",
    "transfer-encoding"};

void trim_end(std::string& text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
}

Result<std::string> read_secret_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(ErrorCode::unavailable, "`" + path + "` cannot be read: " + system_error_text(errno));
  std::string bytes(kMaxValue + 1, '\0');
  std::size_t have = 0;
  ssize_t got = 0;
  do {
    got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got > 0) have += static_cast<std::size_t>(got);
  } while ((got > 0 && have < bytes.size()) || (got < 0 && errno == EINTR));
  const int error = got < 0 ? errno : 0;
  ::close(fd);
  if (error != 0) return fail(ErrorCode::unavailable, "`" + path + "` cannot be read: " + system_error_text(error));
  if (have > kMaxValue) return fail(ErrorCode::limit, "`" + path + "` is larger than a header may be");
  bytes.resize(have);
  return bytes;
}

// What the command prints; its stderr is not shown, it may hold the secret.
asio::awaitable<Result<std::string>> run_secret_command(std::shared_ptr<LinkContext> context,
                                                        std::vector<std::string> command, Deadline deadline) {
  ChildSpec spec;
  spec.environment = child_environment(context->environment, {});
  auto program = resolve_command(command.empty() ? std::string() : command.front(), spec.environment, {});
  if (!program) co_return fail(std::move(program.error()));
  spec.program = std::move(*program);
  spec.arguments = std::move(command);
  auto spawned = ChildProcess::spawn(context->loop, spec);
  if (!spawned) co_return fail(std::move(spawned.error()));
  const std::unique_ptr<ChildProcess> child = std::move(*spawned);
  child->close_in();
  deadline = earlier(deadline, Deadline::after(kCommandWait));
  std::string text;
  std::array<char, 4096> chunk;  // NOLINT: filled by the read
  for (;;) {
    const Result<std::size_t> got = co_await child->out().read_some(chunk, deadline);
    if (!got) co_return fail(ErrorCode::timeout, "the command `" + spec.program + "` did not end in time");
    if (*got == 0) break;
    text.append(chunk.data(), *got);
    if (text.size() > kMaxValue) co_return fail(ErrorCode::limit, "the command prints more than a header may hold");
  }
  const bool ended = co_await child->wait_exit(deadline);
  const std::string how = co_await child->bury(Millis(0));
  if (!ended || child->exit_status() != 0) {
    co_return fail(ErrorCode::unavailable, "the command `" + spec.program + "` failed: " + how);
  }
  co_return text;
}

}  // namespace

Status check_header_name(const std::string& name) {
  if (!is_token(name)) return fail(ErrorCode::invalid, "`" + name + "` is no name of a header");
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (std::ranges::find(kOwned, lower) != kOwned.end()) {
    return fail(ErrorCode::invalid, "the header `" + name + "` belongs to the transport and cannot be configured");
  }
  return {};
}

HeaderSource::HeaderSource(std::shared_ptr<LinkContext> context, const std::map<std::string, SecretSource>& headers)
    : context_(std::move(context)) {
  for (const auto& [name, source] : headers) {
    Entry entry;
    entry.source = source;
    if (source.kind == SecretSource::Kind::literal) {
      entry.value = source.literal;
      entry.fresh_until = Deadline::never();
    }
    entries_.emplace(name, std::move(entry));
  }
}

void HeaderSource::forget() {
  for (auto& [name, entry] : entries_) {
    if (entry.source.kind != SecretSource::Kind::literal) entry.fresh_until = Deadline::at({});
  }
}

asio::awaitable<Status> HeaderSource::refresh(std::string name, Entry& entry, Deadline deadline) {
  Result<std::string> text = fail(ErrorCode::internal, "not read");
  if (entry.source.kind == SecretSource::Kind::file) {
    const std::function<void()> read = [&] { text = read_secret_file(entry.source.path); };
    co_await context_->workers.run(read);
  } else {
    text = co_await run_secret_command(context_, entry.source.command, deadline);
  }
  if (text) trim_end(*text);
  if (text && (text->empty() || !is_header_value(*text))) {
    text = fail(ErrorCode::invalid, text->empty() ? "its value is empty" : "its value cannot be sent in a header");
  }
  if (!text) {
    co_return fail(ErrorCode::unavailable, fmt::format("the header `{}`: {}", name, text.error().message),
                   ErrorSource::gateway, RetryClass::not_sent);
  }
  entry.value = Secret(std::move(*text));
  known_secrets().add(entry.value, true);
  const bool is_file = entry.source.kind == SecretSource::Kind::file;
  entry.fresh_until = is_file ? Deadline::after(kFileKeep) : Deadline::after(kCommandKeep);
  co_return Status{};
}

asio::awaitable<Result<HttpHeaders>> HeaderSource::get(Deadline deadline) {
  HttpHeaders headers;
  for (auto& [name, entry] : entries_) {
    if (entry.fresh_until.passed()) {
      const Status status = co_await refresh(name, entry, deadline);
      if (!status) co_return fail(status.error());
    }
    headers.add(name, entry.value.reveal());
  }
  co_return headers;
}

}  // namespace sallyport::gateway::servers
