// Who a server is, as found on this machine (design section 4): the package of a runner, or the command with a digest
// of the script or the program. Reads files on workers; one object serves all starts of a pool and outlives them.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "gateway/base/workers.hpp"
#include "gateway/ports/settings.hpp"
#include "trust/servers/identity.hpp"

namespace sallyport::gateway::servers {

class Identifier {
 public:
  // What was found, and of the file that was digested all that changes whenever it does, also if it is changed back.
  struct Found {
    trust::Identity identity;
    std::string stamp;  // empty: no file was digested
  };
  // `program`: the resolved command. Never fails: what cannot be found is absent, and the identity pins less.
  asio::awaitable<Found> command(Workers& workers, ServerSettings server, std::string program, std::string home);

 private:
  // A program is read again only when its file has changed.
  struct Known {
    std::uint64_t device, inode, size;
    std::int64_t changed_ns;
    std::string digest;
    [[nodiscard]] bool same_file(const Known& other) const {
      return device == other.device && inode == other.inode && size == other.size && changed_ns == other.changed_ns;
    }
  };
  std::mutex mutex_;  // jobs of several starts may run at once
  std::map<std::string, Known> known_;
};

// `@scope/name@1.2.3` and `name==1.2.3`; pure.
struct PackageSpec {
  std::string name;
  std::string version;  // empty: none was asked for
};
[[nodiscard]] std::optional<PackageSpec> npm_package(const std::vector<std::string>& args);
[[nodiscard]] std::optional<PackageSpec> python_package(const std::vector<std::string>& args);
[[nodiscard]] std::string base_name(const std::string& path);

}  // namespace sallyport::gateway::servers
