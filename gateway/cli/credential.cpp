#include "gateway/cli/credential.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "gateway/net/http.hpp"

namespace sallyport::gateway::cli {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMostBytes = 64U << 10;

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }
  [[nodiscard]] int get() const { return fd_; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_;
};

std::unexpected<Error> fail_errno(std::string_view what, const std::string& path, int number) {
  const ErrorCode code = number == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  return fail(code, std::string(what) + " `" + path + "`: " + std::generic_category().message(number));
}

// Looks at the open file, not at its name, so that nobody can put another in between.
Result<std::string> read_private(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (file.get() < 0) return fail_errno("cannot read", path, errno);
  struct stat info{};
  if (::fstat(file.get(), &info) != 0) return fail_errno("cannot read", path, errno);
  if (!S_ISREG(info.st_mode) && !S_ISFIFO(info.st_mode)) {
    return fail(ErrorCode::invalid, "`" + path + "` is no file");
  }
  if (info.st_uid != ::geteuid() && info.st_uid != 0) {
    return fail(ErrorCode::forbidden, "`" + path + "` belongs to another user, who could choose your credential");
  }
  if ((info.st_mode & 077U) != 0) {
    return fail(ErrorCode::forbidden, "`" + path + "` can be read by others; run: chmod 600 " + path);
  }
  std::string text;
  std::string chunk(4096, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read", path, errno);
    if (got == 0) return text;
    text.append(chunk, 0, static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) return fail(ErrorCode::invalid, "`" + path + "` is too large for a credential");
  }
}

Status write_private(const std::string& path, const std::string& text) {
  std::error_code ignored;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!std::filesystem::exists(folder, ignored)) {
    std::filesystem::create_directories(folder.parent_path(), ignored);
    if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return fail_errno("cannot make", folder.string(), errno);
  }
  std::string beside = path + ".XXXXXX";
  Descriptor file(::mkostemp(beside.data(), O_CLOEXEC));  // 0600
  if (file.get() < 0) return fail_errno("cannot write", path, errno);
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t put = ::write(file.get(), text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      const int number = errno;
      ::unlink(beside.c_str());
      return fail_errno("cannot write", path, number);
    }
    done += static_cast<std::size_t>(put);
  }
  if (::fsync(file.get()) != 0 || ::rename(beside.c_str(), path.c_str()) != 0) {
    const int number = errno;
    ::unlink(beside.c_str());
    return fail_errno("cannot write", path, number);
  }
  return {};
}

std::string trimmed(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r' || text.back() == ' ')) text.pop_back();
  return text.substr(std::min(text.find_first_not_of(' '), text.size()));
}

Result<Secret> token_of(std::string text, const std::string& where) {
  text = trimmed(std::move(text));
  if (text.empty()) return fail(ErrorCode::invalid, where + " holds no token");
  if (text.find_first_of(" \t\r\n") != std::string::npos || !is_header_value(text)) {
    return fail(ErrorCode::invalid, where + " holds more than one token, or something else");
  }
  return Secret(std::move(text));
}

Result<bj::object> read_store(const std::string& file) {
  auto text = read_private(file);
  if (!text) return fail(text.error());
  boost::system::error_code ec;
  bj::value value = bj::parse(*text, ec);
  const auto* root = ec ? nullptr : value.if_object();
  const auto* credentials = root == nullptr ? nullptr : root->if_contains("credentials");
  if (credentials == nullptr || !credentials->is_object()) {
    return fail(ErrorCode::corrupt, "`" + file + "` is not what login writes; remove it and log in again");
  }
  return credentials->as_object();
}

}  // namespace

std::string credential_file(const GetVariable& environment) {
  const auto config = environment("XDG_CONFIG_HOME");
  if (config && config->starts_with('/')) return *config + "/sallyport/credential";
  const auto home = environment("HOME");
  if (home && home->starts_with('/')) return *home + "/.config/sallyport/credential";
  return {};
}

Result<Secret> read_token_file(const std::string& path) {
  auto text = read_private(path);
  if (!text) return fail(text.error());
  return token_of(std::move(*text), "`" + path + "`");
}

Result<Secret> stored_credential(const std::string& file, const std::string& target) {
  auto store = read_store(file);
  if (!store) return fail(store.error());
  const auto* token = store->if_contains(target);
  if (token == nullptr || !token->is_string()) return fail(ErrorCode::not_found, "nothing is stored for " + target);
  return token_of(std::string(token->as_string()), "`" + file + "`");
}

Status store_credential(const std::string& file, const std::string& target, const Secret& token) {
  bj::object credentials;
  if (auto store = read_store(file))
    credentials = std::move(*store);
  else if (store.error().code != ErrorCode::not_found)
    return fail(store.error());
  if (token.empty())
    credentials.erase(target);
  else
    credentials[target] = token.reveal();
  return write_private(file, bj::serialize(bj::object{{"credentials", std::move(credentials)}}) + "\n");
}

Result<Secret> find_credential(const std::string& token_file, const std::string& target,
                               const GetVariable& environment) {
  if (!token_file.empty()) return read_token_file(token_file);
  if (auto token = environment(kControlTokenVariable); token && !token->empty()) {
    return token_of(std::move(*token), std::string(kControlTokenVariable));
  }
  const std::string file = credential_file(environment);
  Result<Secret> stored = fail(ErrorCode::not_found, "");
  if (!file.empty()) stored = stored_credential(file, target);
  if (stored || stored.error().code != ErrorCode::not_found) return stored;
  return fail(ErrorCode::not_found,
              "no credential for " + target +
                  ": run `sallyport login`, or give --token-file or SALLYPORT_CONTROL_TOKEN (the first start of the "
                  "gateway prints the token of `owner`)");
}

}  // namespace sallyport::gateway::cli
