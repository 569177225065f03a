// Reload: from changed files to what is in force (design section 4, "A reload that may loosen"). Told by SIGHUP, by the
// file watch, or by an operator, it reads the files, checks them, and says what would change (changes.hpp):
//
// - what only tightens is put in force at once, even where the policy's own tests fail (an emergency deny);
// - what may loosen waits, and is shown, until an operator accepts exactly what was shown; it is replaced by what is
// read
//   later, and gone when the files are again what is in force;
// - files with faults leave what is in force, and that is said: log, /readyz, status, console.
//
// One step puts it in force: one snapshot for the catalogue, clients and people with it; what waits is decided again.
// Servers, listeners, limits and folders take effect at the next start. On the loop; one reading at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gateway/app/changes.hpp"
#include "gateway/base/file_watch.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/base/workers.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/catalogue/catalogue.hpp"
#include "gateway/ports/desk.hpp"

namespace sallyport::gateway {

// What a reload works with; all of it outlives it.
struct ReloadParts {
  const SettingsRequest& request;
  const FileReader& files;
  Workers& workers;
  catalogue::Catalogue& catalogue;
  calls::Calls& calls;
  // Puts the clients and people of these settings in force, in one step with what `with_them` does; sessions of those
  // who are gone end. An error: nothing was done.
  std::function<asio::awaitable<Status>(Settings settings, std::function<void()> with_them)> let_in;
  std::function<void()> on_change;  // something else is in force, or waits, or is at fault
};

class Reload {
 public:
  // `first`: what the start put in force.
  Reload(asio::any_io_executor loop, InForce first, ReloadParts parts);
  ~Reload();

  // The receipt of the first load; then the files are watched.
  asio::awaitable<Status> begin();
  // For SIGHUP and the watch: nobody is there to say yes.
  asio::awaitable<void> reread(std::string by);
  // What is under way ends, until the deadline; nothing is read after it.
  asio::awaitable<void> stop(Deadline deadline);

  // Roles and shapes: docs/control-api.md.
  DeskAnswer reload(Person person);
  DeskAnswer accept(Person person, std::string digest);
  DeskAnswer view(Person person);
  // The lock was written by that person's word: what it says is in force, whatever else the files say.
  DeskAnswer lock_accepted(Person person);

  [[nodiscard]] const InForce& in_force() const { return in_force_; }
  [[nodiscard]] std::string state() const;  // in_force, waiting or refused
  // {"state":…} and, in short, what waits or is at fault; a JSON object.
  [[nodiscard]] std::string summary() const;

 private:
  struct Waiting {
    InForce loaded;
    Changes changes;
    std::string digest, by;
    UnixMillis since = 0;
  };
  class Turn;

  asio::awaitable<Status> turn_comes();
  asio::awaitable<Status> look(std::string by, bool lock_was_accepted);
  asio::awaitable<Status> put_in_force(InForce loaded, std::string by, std::string reason);
  asio::awaitable<Status> note(std::string action, std::string by, std::string reason, std::string before);
  asio::awaitable<Status> judge(InForce found, bool tests_ok, std::string by, bool lock_was_accepted);
  asio::awaitable<Status> take_lock(std::string by);
  Status refuse(std::string why);
  [[nodiscard]] std::string answer() const;
  [[nodiscard]] std::string config_text() const;  // empty: inline
  void watch();

  ReloadParts parts_;
  InForce in_force_;
  Former former_;      // who was in force at any time since the start
  std::string fixed_;  // of the config, as it was at the start
  std::optional<Waiting> waiting_;
  std::vector<std::string> faults_;  // of the last reading, warnings too
  std::string refused_;              // why the last reading was not taken; empty: it was
  bool restart_ = false;             // the config says something that only a start can do
  bool busy_ = false;
  Signal free_;
  FileWatch watch_;
  TaskGroup tasks_;
};

}  // namespace sallyport::gateway
