// A SQLite VFS for tests, over the system's own: counts writes and syncs, makes the n-th of them fail, and can cut the
// power: what was written and not synced is then lost. Registered while it lives; every file opened through it must be
// closed before. Thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace sallyport::test {

class VfsShim {
 public:
  enum class Fault : std::uint8_t {
    none,
    full,      // SQLITE_FULL, as long as still_full() says so
    io_error,  // this one call fails, later ones work
    cut,       // a write gets half of its bytes down, then nothing works any more
    kill,      // this process gets SIGKILL instead: for children of a test
  };

  explicit VfsShim(std::string name);
  ~VfsShim();
  VfsShim(const VfsShim&) = delete;
  VfsShim& operator=(const VfsShim&) = delete;

  [[nodiscard]] const std::string& name() const;
  [[nodiscard]] std::uint64_t writes() const;
  [[nodiscard]] std::uint64_t syncs() const;
  [[nodiscard]] std::uint64_t steps() const;  // writes and syncs together, in order

  // The step-th write or sync from now on (from 0) fails in that way.
  void fail_at(std::uint64_t step, Fault fault);
  void fail_next_sync();
  void still_full(std::function<bool()> full);
  [[nodiscard]] bool tripped() const;

  // After a cut and after all files are closed: undoes what was not synced. `keep` chooses, per lost write, whether it
  // had reached the disk all the same (the disk may write in any order); default: none had.
  void lose_unsynced(const std::function<bool(std::uint64_t)>& keep = {});

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace sallyport::test
