#include "state.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace export_worker {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::system_error(errno, std::generic_category(), what); }

}  // namespace

State::State(const std::string& path) : path_(path) {
  lock_ = ::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) fail(path + ".lock");
  while (::flock(lock_, LOCK_EX) != 0) {
    if (errno != EINTR) fail(path + ".lock");
  }
  std::ifstream file(path);
  if (file) {
    std::ostringstream text;
    text << file.rdbuf();
    value_ = json::parse(text.str()).as_object();
  }
  value_.emplace("config", nullptr);
  value_.emplace("revision", 0);
  for (const char* name : {"exports", "published"}) value_.emplace(name, json::array());
  for (const char* name : {"executions", "faults"}) value_.emplace(name, json::object());
}

State::~State() { ::close(lock_); }

void State::save() {
  const std::string text = json::serialize(value_) + "\n";
  const std::string fresh = path_ + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) fail(fresh);
  std::size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) {
      ::close(file);
      fail(fresh);
    }
    if (count > 0) written += static_cast<std::size_t>(count);
  }
  ::close(file);
  if (::rename(fresh.c_str(), path_.c_str()) != 0) fail(path_);
}

}  // namespace export_worker
