#include "gateway/base/file_watch.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <set>

#include "gateway/base/task_group.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::uint32_t kMask = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_ATTRIB |
                                IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;

bool names_rules(std::string_view name) { return name.ends_with(".json") || name.ends_with(".jsonc"); }

}  // namespace

struct FileWatch::State : std::enable_shared_from_this<FileWatch::State> {
  State(asio::any_io_executor executor, std::function<void()> callback, Millis pause)
      : on_change(std::move(callback)), quiet(pause), descriptor(executor), tasks(executor) {}

  // What matters in a watched folder: these names, every rules file (the folder itself was named), or, where a link
  // leads through it, everything.
  struct Folder {
    std::set<std::string> names;
    bool rules = false;
    bool all = false;
  };

  Status open() {
    const int fd = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) return fail(ErrorCode::io, std::string("files cannot be watched: ") + std::strerror(errno));
    descriptor.assign(fd);
    tasks.spawn("watch files", read_forever(shared_from_this()));
    return {};
  }

  void add(std::map<std::string, Folder>& folders, const std::string& path) {
    namespace fs = std::filesystem;
    std::error_code ec;
    const fs::path file(path);
    folders[file.parent_path().string()].names.insert(file.filename().string());
    if (fs::is_directory(file, ec)) folders[path].rules = true;
    const fs::path real = fs::canonical(file, ec);
    if (!ec && real != file) {
      folders[real.parent_path().string()].names.insert(real.filename().string());
      folders[file.parent_path().string()].all = true;
    }
  }

  Status watch(const std::vector<std::string>& paths) {
    if (!descriptor.is_open()) {
      if (auto opened = open(); !opened) return opened;
    }
    std::map<std::string, Folder> folders;
    for (const std::string& path : paths) add(folders, path);
    Status out;
    std::map<int, Folder> now;
    for (const auto& [path, folder] : folders) {
      const int number = ::inotify_add_watch(descriptor.native_handle(), path.c_str(), kMask);
      if (number < 0) {
        out = fail(ErrorCode::io, "`" + path + "` cannot be watched: " + std::strerror(errno));
        continue;
      }
      Folder& one = now[number];  // two paths may lead to one folder
      one.names.insert(folder.names.begin(), folder.names.end());
      one.rules = one.rules || folder.rules;
      one.all = one.all || folder.all;
    }
    // A folder that stays keeps its number, and with it the events that were not read yet.
    for (const auto& [number, folder] : watched) {
      if (!now.contains(number)) ::inotify_rm_watch(descriptor.native_handle(), number);
    }
    watched = std::move(now);
    return out;
  }

  [[nodiscard]] bool matters(const inotify_event& event) const {
    if ((event.mask & IN_Q_OVERFLOW) != 0) return true;
    const auto found = watched.find(event.wd);
    if (found == watched.end()) return false;  // of a watch that was taken away
    const Folder& folder = found->second;
    if (event.len == 0 || folder.all) return true;
    const std::string_view name(event.name);
    return folder.names.contains(std::string(name)) || (folder.rules && names_rules(name));
  }

  // The tasks hold the state, so that one that is cut off late finds it still there.
  static asio::awaitable<void> read_forever(std::shared_ptr<State> self) {
    alignas(inotify_event) std::array<char, 16384> buffer{};
    for (;;) {
      boost::system::error_code ec;
      co_await self->descriptor.async_wait(asio::posix::stream_descriptor::wait_read,
                                           asio::redirect_error(asio::use_awaitable, ec));
      if (ec) co_return;
      bool any = false;
      for (;;) {
        const ssize_t got = ::read(self->descriptor.native_handle(), buffer.data(), buffer.size());
        if (got <= 0) break;
        for (const char* at = buffer.data(); at < buffer.data() + got;) {
          const auto* event = reinterpret_cast<const inotify_event*>(at);
          any = any || self->matters(*event);
          at += sizeof(inotify_event) + event->len;
        }
      }
      if (!any || self->telling) continue;
      self->telling = true;
      self->tasks.spawn("tell of files", tell_later(self));
    }
  }

  static asio::awaitable<void> tell_later(std::shared_ptr<State> self) {
    const bool slept = co_await sleep_until(Deadline::after(self->quiet));
    self->telling = false;
    if (slept && self->on_change) self->on_change();
  }

  std::function<void()> on_change;
  Millis quiet;
  std::map<int, Folder> watched;
  bool telling = false;
  asio::posix::stream_descriptor descriptor;
  TaskGroup tasks;  // last: its tasks use the rest
};

FileWatch::FileWatch(asio::any_io_executor loop, std::function<void()> on_change, Millis quiet)
    : state_(std::make_shared<State>(std::move(loop), std::move(on_change), quiet)) {}

FileWatch::~FileWatch() {
  state_->on_change = {};
  boost::system::error_code ignored;
  state_->descriptor.close(ignored);
  state_->tasks.cancel();
}

Status FileWatch::watch(const std::vector<std::string>& paths) { return state_->watch(paths); }

}  // namespace sallyport::gateway
