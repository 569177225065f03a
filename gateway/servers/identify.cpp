#include "gateway/servers/identify.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "schemas/core/json.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::servers {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxProgram = 512U << 20;
constexpr std::uint64_t kMaxLockFile = 16U << 20;
constexpr int kMaxCacheEntries = 500;

constexpr std::array<std::string_view, 15> kInterpreters{"node",    "nodejs", "bun",  "deno", "tsx",
                                                         "ts-node", "ruby",   "perl", "php",  "bash",
                                                         "dash",    "sh",     "zsh",  "lua",  "java"};
// Of `docker run`: these take no value.
constexpr std::array<std::string_view, 12> kDockerSwitches{"-i",    "-t",       "-it",          "-ti",
                                                           "-d",    "--rm",     "--init",       "--interactive",
                                                           "--tty", "--detach", "--privileged", "--read-only"};

bool is_interpreter(std::string_view name) {
  return name.starts_with("python") || std::ranges::find(kInterpreters, name) != kInterpreters.end();
}

struct OpenFile {
  explicit OpenFile(const std::string& path) : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() {
    if (fd >= 0) ::close(fd);
  }
  int fd;
};

std::optional<std::string> read_all(int fd, std::uint64_t size) {
  std::string bytes;
  bytes.resize(size);
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + have, bytes.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    have += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::optional<std::string> read_file(const std::string& path, std::uint64_t limit) {
  const OpenFile file(path);
  struct stat info{};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  return size > limit ? std::nullopt : read_all(file.fd, size);
}

// The first argument that is a file, where an interpreter takes its script.
std::string script_of(const ServerSettings& server) {
  for (const std::string& argument : server.args) {
    if (argument.starts_with('-')) continue;
    fs::path path(argument);
    if (path.is_relative() && !server.cwd.empty()) path = fs::path(server.cwd) / path;
    std::error_code error;
    const fs::path whole = fs::absolute(path, error);
    if (!error && fs::is_regular_file(whole, error)) return whole.lexically_normal().string();
    return {};
  }
  return {};
}

// What npx unpacked: each of its folders has a lock file with the integrity that the registry named.
std::string npm_integrity(const std::string& home, const PackageSpec& package) {
  std::error_code error;
  fs::directory_iterator folders(fs::path(home) / ".npm" / "_npx", error);
  int left = kMaxCacheEntries;
  for (; !error && folders != fs::directory_iterator() && left > 0; folders.increment(error), --left) {
    const auto text = read_file((folders->path() / "node_modules" / ".package-lock.json").string(), kMaxLockFile);
    if (!text) continue;
    const auto document = json::Document::parse(*text, {.bytes = kMaxLockFile, .depth = 64});
    if (!document || !document->root().is_object()) continue;
    const json::Value packages = document->root().find("packages");
    const json::Value entry = packages ? packages.find("node_modules/" + package.name) : json::Value();
    const json::Value version = entry ? entry.find("version") : json::Value();
    const json::Value integrity = entry ? entry.find("integrity") : json::Value();
    if (version && version.equals(package.version) && integrity && integrity.is_string()) return integrity.string();
  }
  return {};
}

std::optional<trust::Identity> image_of(const std::vector<std::string>& args) {
  if (args.empty() || args.front() != "run") return std::nullopt;
  for (std::size_t i = 1; i < args.size(); ++i) {
    const std::string& argument = args[i];
    if (argument.starts_with('-')) {
      const bool alone = argument.find('=') != std::string::npos ||
                         std::ranges::find(kDockerSwitches, argument) != kDockerSwitches.end();
      if (!alone) ++i;
      continue;
    }
    trust::Identity identity;
    identity.kind = trust::Identity::Kind::image;
    const std::size_t at = argument.find("@sha256:");
    identity.image = argument.substr(0, at);
    if (at != std::string::npos && trust::is_digest(argument.substr(at + 1))) identity.digest = argument.substr(at + 1);
    return identity;
  }
  return std::nullopt;
}

trust::Identity package_identity(std::string runner, const PackageSpec& package) {
  trust::Identity identity;
  identity.kind = trust::Identity::Kind::package;
  identity.runner = std::move(runner);
  identity.package = package.name;
  identity.version = package.version;
  return identity;
}

// Values that follow an option, or stand in it: `-p NAME`, `--package=NAME`.
std::optional<std::string> option_value(const std::vector<std::string>& args, std::size_t i, std::string_view name) {
  if (args[i] == name && i + 1 < args.size()) return args[i + 1];
  if (args[i].starts_with(std::string(name) + "=")) return args[i].substr(name.size() + 1);
  return std::nullopt;
}

}  // namespace

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::optional<PackageSpec> npm_package(const std::vector<std::string>& args) {
  std::string spec;
  for (std::size_t i = 0; i < args.size() && spec.empty(); ++i) {
    auto value = option_value(args, i, "-p");
    if (!value) value = option_value(args, i, "--package");
    if (value) spec = *value;
    if (args[i] == "-c" || args[i] == "--call") return std::nullopt;  // a command line, not a package
    if (spec.empty() && !args[i].starts_with('-')) spec = args[i];
  }
  if (spec.empty() || spec.find(':') != std::string::npos || spec.starts_with('.') || spec.starts_with('/')) {
    return std::nullopt;  // git, file and URL specs name no package of the registry
  }
  const std::size_t at = spec.find('@', 1);
  if (at == std::string::npos) return PackageSpec{spec, {}};
  return PackageSpec{spec.substr(0, at), spec.substr(at + 1)};
}

std::optional<PackageSpec> python_package(const std::vector<std::string>& args) {
  std::string spec;
  for (std::size_t i = 0; i < args.size() && spec.empty(); ++i) {
    if (auto value = option_value(args, i, "--from")) spec = *value;
    if (spec.empty() && !args[i].starts_with('-')) spec = args[i];
  }
  if (spec.empty() || spec.find(':') != std::string::npos || spec.find('/') != std::string::npos) return std::nullopt;
  for (const std::string_view separator : {"==", "@"}) {
    const std::size_t at = spec.find(separator);
    if (at != std::string::npos) return PackageSpec{spec.substr(0, at), spec.substr(at + separator.size())};
  }
  return PackageSpec{spec, {}};
}

asio::awaitable<trust::Identity> Identifier::command(Workers& workers, ServerSettings server, std::string program,
                                                     std::string home) {
  trust::Identity identity;
  const std::string name = base_name(program);
  std::optional<PackageSpec> package;
  if (name == "npx" || name == "bunx") package = npm_package(server.args);
  if (name == "uvx") package = python_package(server.args);
  if (package) {
    identity = package_identity(name, *package);
    if (name != "npx" || home.empty()) co_return identity;
    const std::function<void()> search = [&] { identity.integrity = npm_integrity(home, *package); };
    co_await workers.run(search);
    co_return identity;
  }
  if (name == "docker" || name == "podman") {
    if (auto image = image_of(server.args)) co_return std::move(*image);
  }
  identity.kind = trust::Identity::Kind::command;
  identity.command = program;
  const std::function<void()> read = [&] {
    if (is_interpreter(name)) identity.script = script_of(server);
    const std::string& file = identity.script.empty() ? program : identity.script;
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    const Known now{static_cast<std::uint64_t>(info.st_dev),
                    static_cast<std::uint64_t>(info.st_ino),
                    static_cast<std::uint64_t>(info.st_size),
                    info.st_ctim.tv_sec * 1'000'000'000LL + info.st_ctim.tv_nsec,
                    {}};
    {
      const std::lock_guard lock(mutex_);
      const auto found = known_.find(file);
      if (found != known_.end() && found->second.same_file(now)) {
        identity.digest = found->second.digest;
        return;
      }
    }
    const auto bytes = read_file(file, kMaxProgram);
    if (!bytes) return;
    identity.digest = trust::digest_text(*bytes);
    Known known = now;
    known.digest = identity.digest;
    const std::lock_guard lock(mutex_);
    known_[file] = std::move(known);
  };
  co_await workers.run(read);
  co_return identity;
}

}  // namespace sallyport::gateway::servers
