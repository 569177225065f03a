// `serve`, `stdio` and `wrap`: the owner, and the bridges to it.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "gateway/app/local_commands.hpp"
#include "gateway/app/owner.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/cli/credential.hpp"
#include "gateway/clients/bridge.hpp"
#include "gateway/net/connect.hpp"
#include "gateway/storage/state_folder.hpp"

extern char** environ;

namespace sallyport::gateway {
namespace {

constexpr auto kOwnerStart = std::chrono::seconds(30);

std::string own_program() {
  std::error_code ec;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? std::string("sallyport") : path.string();
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

// The words that start an owner for the same config as this bridge has.
std::vector<std::string> owner_words(const cli::Invocation& invocation, const std::string& state) {
  std::vector<std::string> words{own_program(), "serve", "--state", state, "--idle-exit", "10m"};
  if (invocation.words.empty()) {
    if (!invocation.config.empty())
      words.insert(words.end(), {"--config", std::filesystem::absolute(invocation.config).string()});
    words.emplace_back("--client-started");
  } else {
    words.insert(words.end(), {"--wrapped", "--"});
    words.insert(words.end(), invocation.words.begin(), invocation.words.end());
  }
  return words;
}

// In a session of its own, so that it outlives this client; what it says goes to owner.log in the state folder.
Status start_owner(const std::vector<std::string>& words, const std::string& state) {
  std::vector<char*> argv;
  std::vector<std::string> kept = words;
  for (auto& word : kept) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::error_code ec;
  if (std::filesystem::create_directories(state, ec))
    std::filesystem::permissions(state, std::filesystem::perms::owner_all, ec);
  if (ec) return fail(ErrorCode::io, fmt::format("the state folder `{}` cannot be made: {}", state, ec.message()));
  const std::string log = state + "/owner.log";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 2, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t pid = 0;
  const int failed = ::posix_spawn(&pid, kept.front().c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    return fail(ErrorCode::io, fmt::format("`{}` could not be started: {}", kept.front(), std::strerror(failed)));
  return {};
}

asio::awaitable<bool> answers(std::string socket, asio::any_io_executor loop) {
  auto stream = co_await connect_unix(loop, std::move(socket), Deadline::after(std::chrono::seconds(2)));
  co_return stream.has_value();
}

asio::awaitable<Status> bridge(const cli::Invocation& invocation, std::string state, asio::any_io_executor loop) {
  const std::string socket = state + "/client.sock";
  bool there = co_await answers(socket, loop);
  if (!there) {
    if (auto started = start_owner(owner_words(invocation, state), state); !started) co_return started;
    const Deadline deadline = Deadline::after(kOwnerStart);
    while (!there && !deadline.passed()) {
      co_await sleep_until(Deadline::after(std::chrono::milliseconds(50)));
      there = co_await answers(socket, loop);
    }
    if (!there) {
      co_return fail(
          ErrorCode::unavailable,
          "no gateway could be started for this state folder; run `sallyport check`, then look into owner.log there");
    }
  }
  BridgeOptions options;
  options.socket_path = socket;
  options.hello.server = invocation.server;
  if (!invocation.token_file.empty()) {
    auto token = cli::read_token_file(invocation.token_file);
    if (!token) co_return fail(token.error());
    options.hello.token = std::move(*token);
  } else if (auto token = process_environment()("SALLYPORT_TOKEN")) {
    options.hello.token = Secret(*token);
  }
  auto local = adopt_stdio(loop);
  if (!local) co_return fail(local.error());
  auto done = co_await run_bridge(std::move(*local), std::move(options));
  co_return done;
}

}  // namespace

int serve_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  auto request = settings_request(invocation);
  if (!request)
    return cli::complain(terminal, request.error().message,
                         "write one with `sallyport init FILE…`, or name it with --config");
  OwnerOptions options;
  options.request = std::move(*request);
  options.command = "sallyport serve" + (invocation.words.empty() ? "" : " for `" + joined(invocation.words) + "`");
  options.boundary = invocation.wrapped ? "wrap" : invocation.client_started ? "client-started" : "service";
  options.idle_exit = invocation.idle_exit;
  options.tcp = !invocation.wrapped;
  return run_owner(options);
}

int bridge_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  std::string state;
  if (invocation.words.empty()) {
    auto folder = state_folder_of(invocation);
    if (!folder) return cli::complain(terminal, folder.error().message, "write a config with `sallyport init FILE…`");
    state = std::move(*folder);
  } else {
    auto request = settings_request(invocation);
    if (!request) return cli::complain(terminal, request.error().message);
    state = request->state;
  }
  asio::io_context io{1};
  Status result = fail(ErrorCode::internal, "the bridge did not run");
  asio::co_spawn(io, bridge(invocation, state, io.get_executor()), [&](std::exception_ptr error, Status status) {
    if (!error) result = std::move(status);
    io.stop();
  });
  io.run();
  if (result) return cli::kYes;
  return cli::complain(terminal, result.error().message);
}

}  // namespace sallyport::gateway
