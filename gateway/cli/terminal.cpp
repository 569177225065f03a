#include "gateway/cli/terminal.hpp"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace sallyport::gateway::cli {
namespace {

constexpr std::size_t kMostLine = 64U << 10;

// No echo for as long as it lives.
class Silence {
 public:
  Silence() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios silent = before_;
    silent.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    on_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;
  ~Silence() {
    if (!on_) return;
    ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
    std::fputc('\n', stderr);
  }

 private:
  termios before_{};
  bool on_ = false;
};

// Keys come one by one, unechoed, for as long as it lives; signals stay.
class RawKeys {
 public:
  RawKeys() {
    if (::tcgetattr(STDIN_FILENO, &before_) != 0) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ECHO | ICANON);
    raw.c_cc[VMIN] = 1;
    raw.c_cc[VTIME] = 0;
    on_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
  }
  RawKeys(const RawKeys&) = delete;
  RawKeys& operator=(const RawKeys&) = delete;
  ~RawKeys() {
    if (on_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

 private:
  termios before_{};
  bool on_ = false;
};

class SystemTerminal final : public Terminal {
 public:
  void out(std::string_view text) override { broken_ = !write(stdout, text) || broken_; }
  void err(std::string_view text) override { write(stderr, text); }
  [[nodiscard]] bool broken() const override { return broken_; }
  [[nodiscard]] bool interactive() const override {
    return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDERR_FILENO) != 0;
  }
  std::optional<std::string> read_line(bool secret) override {
    std::optional<Silence> silence;
    if (secret && ::isatty(STDIN_FILENO) != 0) silence.emplace();
    std::string line;
    char byte = 0;
    while (read_some(&byte, 1) == 1) {
      if (byte == '\n') return line;
      if (line.size() >= kMostLine) return std::nullopt;
      if (byte != '\r') line += byte;
    }
    if (line.empty()) return std::nullopt;
    return line;
  }
  std::optional<char> read_key(Millis wait) override {
    const RawKeys raw;
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int limit = static_cast<int>(std::min<std::int64_t>(wait.count(), 24LL * 3600 * 1000));
    const int ready = ::poll(&input, 1, limit);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return '\0';
    char byte = 0;
    if (ready < 0 || read_some(&byte, 1) != 1) return std::nullopt;
    return byte;
  }
  void forget_typed() override {
    if (::isatty(STDIN_FILENO) != 0) ::tcflush(STDIN_FILENO, TCIFLUSH);
  }
  std::optional<std::string> read_all(std::size_t limit) override {
    std::string all;
    std::string chunk(64U << 10, '\0');
    for (;;) {
      const ssize_t got = read_some(chunk.data(), chunk.size());
      if (got < 0) return std::nullopt;
      if (got == 0) return all;
      all.append(chunk, 0, static_cast<std::size_t>(got));
      if (all.size() > limit) return std::nullopt;
    }
  }

 private:
  static ssize_t read_some(char* into, std::size_t most) {
    ssize_t got = 0;
    do got = ::read(STDIN_FILENO, into, most);
    while (got < 0 && errno == EINTR);
    return got;
  }
  static bool write(std::FILE* file, std::string_view text) {
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return std::fflush(file) == 0 && whole;
  }

  bool broken_ = false;
};

}  // namespace

Terminal& system_terminal() {
  static SystemTerminal terminal;
  return terminal;
}

int complain(Terminal& terminal, std::string_view message, std::string_view remedy) {
  std::string text = "sallyport: " + std::string(message) + "\n";
  if (!remedy.empty()) text += std::string(remedy) + "\n";
  terminal.err(text);
  return kCouldNot;
}

bool confirm(Terminal& terminal, std::string_view question) {
  terminal.forget_typed();
  terminal.err(std::string(question) + " [y/N] ");
  const auto line = terminal.read_line();
  return line && (*line == "y" || *line == "Y" || *line == "yes");
}

}  // namespace sallyport::gateway::cli
