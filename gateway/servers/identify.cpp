#include "gateway/servers/identify.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "schemas/core/json.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway::servers {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMaxProgram = 512U << 20;
constexpr std::uint64_t kMaxLockFile = 16U << 20;
constexpr int kMaxCacheEntries = 500;
constexpr int kMaxArchives = 20'000;

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

// Where a program takes its script from: options with a value of their own, and those after which there is no script.
struct Habits {
  std::string_view name;  // the begin of it
  std::vector<std::string_view> valued, codes;
};
const std::vector<Habits>& habits() {
  static const std::vector<Habits> kHabits{
      {"python", {"-X", "-W", "--check-hash-based-pycs"}, {"-c", "-m"}},
      {"node",
       {"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"},
       {"-e", "--eval", "-p", "--print"}},
      {"tsx", {"-r", "--require", "--import", "--tsconfig"}, {"-e", "--eval", "-p", "--print"}},
      {"ts-node", {"-r", "--require", "-P", "--project", "-O"}, {"-e", "--eval", "-p", "--print"}},
      {"bun", {"-r", "--preload", "--cwd", "-c", "--config"}, {"-e", "--eval", "-p", "--print", "x", "exec"}},
      {"deno", {"-c", "--config", "--import-map", "--lock"}, {"eval"}},
      {"ruby", {"-r", "-I", "-C"}, {"-e"}},
      {"perl", {"-I"}, {"-e", "-E"}},
      {"php", {"-d", "-c"}, {"-r"}},
      {"bash", {"-o", "+o", "-O", "+O", "--rcfile", "--init-file"}, {"-c"}},
      {"lua", {"-l"}, {"-e"}},
      {"java", {"-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules"}, {"-m", "--module"}}};
  return kHabits;
}

Habits habits_of(std::string_view program) {
  for (const std::string_view shell : {"sh", "dash", "zsh"}) {
    if (program == shell) program = "bash";
  }
  if (program == "nodejs") program = "node";
  for (const Habits& one : habits()) {
    if (program == one.name || (one.name == "python" && program.starts_with(one.name))) return one;
  }
  return {};
}

// `-c`, and short options together that end in it, as in `sh -ec`.
bool is_code(const Habits& habits, std::string_view argument) {
  return std::ranges::any_of(habits.codes, [&](std::string_view code) {
    if (argument == code || (code.starts_with("--") && argument.starts_with(std::string(code) + "="))) return true;
    const bool both_short = code.size() == 2 && code[0] == '-' && argument.size() > 2 && argument[0] == '-';
    return both_short && argument[1] != '-' && argument.back() == code[1];
  });
}

std::string file_at(const std::string& argument, const std::string& cwd) {
  fs::path path(argument);
  if (path.is_relative() && !cwd.empty()) path = fs::path(cwd) / path;
  std::error_code error;
  const fs::path whole = fs::absolute(path, error);
  return !error && fs::is_regular_file(whole, error) ? whole.lexically_normal().string() : std::string();
}

std::string script_in(const std::string& program, std::span<const std::string> args, const std::string& cwd);

// `env A=1 python x.py`: what it starts. Options that change how the rest is read leave it unknown.
std::string behind_wrapper(const std::string& wrapper, std::span<const std::string> args, const std::string& cwd) {
  std::size_t i = 0;
  for (; i < args.size(); ++i) {
    const std::string& argument = args[i];
    const bool is_env = wrapper == "env";
    if (is_env && argument == "-u") {
      ++i;
    } else if (argument == "--") {
      ++i;
      break;
    } else if (is_env && (argument == "-i" || argument == "-" || argument.starts_with("--unset="))) {
      continue;
    } else if (argument.starts_with('-')) {
      return {};
    } else if (!is_env || argument.find('=') == std::string::npos) {
      break;
    }
  }
  if (i >= args.size()) return {};
  if (is_interpreter(base_name(args[i])) || trust::starts_others(args[i]))
    return script_in(base_name(args[i]), args.subspan(i + 1), cwd);
  return args[i].find('/') == std::string::npos ? std::string() : file_at(args[i], cwd);
}

// The file that an interpreter, or one behind a wrapper, is given to run; empty: none that can be told.
std::string script_in(const std::string& program, std::span<const std::string> args, const std::string& cwd) {
  if (program == "env" || program == "nohup" || program == "setsid") return behind_wrapper(program, args, cwd);
  if (!is_interpreter(program)) return {};
  const Habits known = habits_of(program);
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& argument = args[i];
    if (is_code(known, argument)) return {};
    if (std::ranges::find(known.valued, argument) != known.valued.end()) {
      ++i;
      continue;
    }
    const bool runs = argument == "run" && (program == "bun" || program == "deno");
    if (argument.starts_with('-') || runs) continue;
    return file_at(argument, cwd);
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

// What uv unpacked of that release: its RECORD names a SHA-256 of every file. Two that differ prove nothing.
std::string python_integrity(const std::string& home, const PackageSpec& package) {
  std::string name = package.name;
  for (char& c : name) {
    if (c == '-' || c == '.') c = '_';
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const std::string record = fmt::format("{}-{}.dist-info/RECORD", name, package.version);
  std::string found;
  std::error_code error;
  fs::directory_iterator folders(fs::path(home) / ".cache" / "uv" / "archive-v0", error);
  int left = kMaxArchives;
  for (; !error && folders != fs::directory_iterator() && left > 0; folders.increment(error), --left) {
    const auto text = read_file((folders->path() / record).string(), kMaxLockFile);
    if (!text) continue;
    std::string digest = "record-" + trust::digest_text(*text);
    if (!found.empty() && found != digest) return {};
    found = std::move(digest);
  }
  return found;
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

asio::awaitable<Identifier::Found> Identifier::command(Workers& workers, ServerSettings server, std::string program,
                                                       std::string home) {
  Found result;
  trust::Identity& identity = result.identity;
  const std::string name = base_name(program);
  std::optional<PackageSpec> package;
  if (name == "npx" || name == "bunx") package = npm_package(server.args);
  if (name == "uvx") package = python_package(server.args);
  if (package) {
    identity = package_identity(name, *package);
    if (name == "bunx" || home.empty() || package->version.empty()) co_return result;
    const std::function<void()> search = [&] {
      identity.integrity = name == "npx" ? npm_integrity(home, *package) : python_integrity(home, *package);
    };
    co_await workers.run(search);
    co_return result;
  }
  if (name == "docker" || name == "podman") {
    if (auto image = image_of(server.args)) co_return Found{std::move(*image), {}};
  }
  identity.kind = trust::Identity::Kind::command;
  identity.command = program;
  const std::function<void()> read = [&] {
    identity.script = script_in(name, server.args, server.cwd);
    const std::string& file = identity.script.empty() ? program : identity.script;
    struct stat info{};
    if (::stat(file.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    const Known now{static_cast<std::uint64_t>(info.st_dev),
                    static_cast<std::uint64_t>(info.st_ino),
                    static_cast<std::uint64_t>(info.st_size),
                    info.st_ctim.tv_sec * 1'000'000'000LL + info.st_ctim.tv_nsec,
                    {}};
    result.stamp = fmt::format("{} {} {} {}", now.device, now.inode, now.size, now.changed_ns);
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
  co_return result;
}

}  // namespace sallyport::gateway::servers
