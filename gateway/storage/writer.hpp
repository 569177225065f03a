// The one thread that writes: takes what waits, runs it as one transaction with a savepoint per job, and commits with
// the durability of the strongest (group commit).
//
// Threads: enqueue(), flush() and healthy() from any; everything else here belongs to the writer's thread.
// A bound: `queue_limit` jobs wait; beyond it enqueue() says no. Nothing is ever dropped silently.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "gateway/ports/store.hpp"
#include "gateway/storage/database.hpp"
#include "gateway/storage/files.hpp"
#include "gateway/storage/sqlite_tx.hpp"
#include "trust/crypto/keys.hpp"
#include "trust/crypto/seal.hpp"

namespace sallyport::gateway {

struct Job {
  Durability durability = Durability::crash;
  std::function<Status(Tx&)> fn;
  std::move_only_function<void(Status)> done;  // on the loop; empty: nobody waits
  Status result;
};

struct WriterStats {
  std::uint64_t groups = 0;
  std::uint64_t jobs = 0;
  std::uint64_t nanoseconds = 0;  // of work in groups, commits included
  std::uint64_t checkpoints = 0;
  std::uint64_t checkpoint_nanoseconds = 0;
};

class Writer {
 public:
  struct Parts {
    std::unique_ptr<Database> database;
    trust::SealKey seal_key{};
    trust::SigningKey key;
    std::int64_t key_row = 0;
    LogEnd log;
    DiskReserve reserve;
    Clock* clock = nullptr;
    Entropy* entropy = nullptr;
    const KnownSecrets* secrets = nullptr;
    std::size_t queue_limit = 0;
    // Runs the `done` of each job on the loop.
    std::function<void(std::vector<Job>)> complete;
  };

  explicit Writer(Parts parts);  // starts the thread
  ~Writer();                     // runs what waits, then ends the thread
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Takes the job unless the queue is full or the store broken: then the job stays as it was and the error says why.
  // A job without `done` waits for the next one with it, for flush() or for the end.
  Status enqueue(Job& job);
  void flush();
  [[nodiscard]] bool healthy() const { return !full_ && !broken_; }
  void mark_broken() { broken_ = true; }
  [[nodiscard]] WriterStats stats() const;

 private:
  enum class Ended : std::uint8_t { committed, busy, full, broken };

  void work();
  bool take(std::vector<Job>& group);
  void run_group(std::vector<Job>& group);
  Ended try_group(std::vector<Job>& group, Durability durability);
  bool run_together(std::vector<Job>& group);
  void run_apart(std::vector<Job>& group);
  void run_job(Job& job, Tx& tx);
  void set_durability(Durability durability);
  void roll_back();
  void note(const DatabaseError& error, const char* what);
  [[nodiscard]] int unmoved_pages() const;
  void checkpoint();

  Parts parts_;
  WriteContext context_;
  std::optional<Durability> set_;  // what the connection is set to
  Error failure_;                  // why the last group failed
  int moved_pages_ = 0;            // in the write-ahead log at the last checkpoint
  int careful_ = 0;                // groups that still take a savepoint per job from the start

  std::atomic<bool> full_ = false;
  std::atomic<bool> broken_ = false;
  std::atomic<std::uint64_t> groups_ = 0, jobs_ = 0, nanoseconds_ = 0, checkpoints_ = 0, checkpoint_nanoseconds_ = 0;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;       // under mutex_
  std::size_t waited_for_ = 0;  // under mutex_: jobs in queue_ that someone waits for
  bool idle_ = false;           // under mutex_: the thread waits for a job
  bool flush_ = false;          // under mutex_: run what waits, though nobody waits for it
  bool stopping_ = false;       // under mutex_
  std::thread thread_;
};

}  // namespace sallyport::gateway
