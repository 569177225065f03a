#include "gateway/storage/writer.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "gateway/base/log.hpp"

namespace sallyport::gateway {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::size_t kMaxGroup = 128;
// After a job failed, so many groups expect another.
constexpr int kCarefulGroups = 16;
// The write-ahead log is moved into the file when it is long, or not so short and there is nothing else to do.
constexpr int kCheckpointPages = 8000;
constexpr int kMoreCheckpointPages = 2000;  // since the last time, where a reader kept it from being emptied
constexpr int kIdleCheckpointPages = 500;
constexpr auto kIdle = std::chrono::milliseconds(200);

std::uint64_t since(Steady::time_point start) {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - start).count());
}

Error broken_error() { return {ErrorCode::io, "the store failed earlier and takes nothing more"}; }

}  // namespace

Writer::Writer(Parts parts) : parts_(std::move(parts)) {
  context_ = {&parts_.log, &parts_.key, parts_.key_row, parts_.clock, parts_.entropy, parts_.secrets};
  thread_ = std::thread([this] { work(); });
}

Writer::~Writer() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status Writer::enqueue(Job& job) {
  if (broken_) return fail(broken_error());
  bool wake = false;
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return fail(ErrorCode::unavailable, "the store is closing");
    if (queue_.size() >= parts_.queue_limit) {
      return fail(ErrorCode::limit, "too much waits to be stored", ErrorSource::gateway, RetryClass::later);
    }
    // A job that nobody waits for shares the transaction of the next one: waking a thread costs more than the job.
    wake = idle_ && job.done;
    if (job.done) ++waited_for_;
    queue_.push_back(std::move(job));
  }
  if (wake) wake_.notify_one();
  return {};
}

void Writer::flush() {
  {
    const std::scoped_lock lock(mutex_);
    if (queue_.empty()) return;
    flush_ = true;
  }
  wake_.notify_one();
}

WriterStats Writer::stats() const { return {groups_, jobs_, nanoseconds_, checkpoints_, checkpoint_nanoseconds_}; }

void Writer::work() {
  std::vector<Job> group;
  while (take(group)) {
    if (group.empty()) {
      checkpoint();
      continue;
    }
    const Steady::time_point start = Steady::now();
    run_group(group);
    nanoseconds_ += since(start);
    ++groups_;
    jobs_ += group.size();
    parts_.complete(std::exchange(group, {}));
    if (parts_.database->wal_pages() >= kCheckpointPages && unmoved_pages() >= kMoreCheckpointPages) checkpoint();
  }
  checkpoint();
}

// False: the end. An empty group: time for a checkpoint.
bool Writer::take(std::vector<Job>& group) {
  std::unique_lock lock(mutex_);
  idle_ = true;
  const bool worth = unmoved_pages() >= kIdleCheckpointPages && !broken_;
  const auto ready = [this] { return stopping_ || flush_ || waited_for_ > 0; };
  if (worth) {
    if (!wake_.wait_for(lock, kIdle, ready)) return true;
  } else {
    wake_.wait(lock, ready);
  }
  idle_ = flush_ = false;
  if (queue_.empty()) return false;  // and stopping
  const std::size_t count = std::min(queue_.size(), kMaxGroup);
  group.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (queue_.front().done) --waited_for_;
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  return true;
}

void Writer::run_group(std::vector<Job>& group) {
  const auto strongest = [](const Job& a, const Job& b) { return a.durability < b.durability; };
  const Durability durability = std::ranges::max_element(group, strongest)->durability;
  Ended ended = broken_ ? Ended::broken : try_group(group, durability);
  if (ended == Ended::full) {
    full_ = true;
    // What is in hand may still be written in the space set aside for it.
    if (parts_.reserve.release()) {
      log::error("store.full", {{"reserve", "given back"}});
      ended = try_group(group, durability);
    }
  }
  if (ended == Ended::committed) return;
  if (ended != Ended::busy && !broken_.exchange(true)) log::error("store.broken", {{"reason", failure_.message}});
  for (Job& job : group) {
    if (job.result) job.result = fail(failure_);
  }
}

Writer::Ended Writer::try_group(std::vector<Job>& group, Durability durability) {
  const LogEnd before = parts_.log;
  failure_ = broken_error();
  try {
    set_durability(durability);
    parts_.database->run("BEGIN IMMEDIATE");
    if (group.size() > 1 && careful_ == 0) {
      if (run_together(group)) {
        parts_.database->run("COMMIT");
        return Ended::committed;
      }
      parts_.database->run("ROLLBACK");
      parts_.log = before;
      careful_ = kCarefulGroups;
      parts_.database->run("BEGIN IMMEDIATE");
    }
    careful_ = std::max(0, careful_ - 1);
    run_apart(group);
    if (parts_.database->in_transaction()) parts_.database->run("COMMIT");
    return Ended::committed;
  } catch (const DatabaseError& error) {
    note(error, "commit");
    roll_back();
    parts_.log = before;
    failure_ = error.error();
    switch (error.fault()) {
      case DatabaseFault::full:
        return Ended::full;
      case DatabaseFault::busy:
        return Ended::busy;
      default:
        return Ended::broken;
    }
  }
}

// Without savepoints, whose copies of pages cost a tenth of a group: nearly always no job fails. False: one did, and
// all have to run again apart.
bool Writer::run_together(std::vector<Job>& group) {
  SqliteTx tx(*parts_.database, &parts_.seal_key, &context_);
  for (Job& job : group) {
    run_job(job, tx);
    if (!job.result) return false;
  }
  return true;
}

void Writer::run_apart(std::vector<Job>& group) {
  SqliteTx tx(*parts_.database, &parts_.seal_key, &context_);
  // A job alone needs no savepoint: undoing it undoes the transaction.
  const bool alone = group.size() == 1;
  for (Job& job : group) {
    const LogEnd before = parts_.log;
    if (!alone) parts_.database->run("SAVEPOINT job");
    run_job(job, tx);
    if (!job.result) {
      parts_.database->run(alone ? "ROLLBACK" : "ROLLBACK TO job");
      parts_.log = before;
      if (!job.done) log::error("store.posted_step_failed", {{"reason", job.result.error().message}});
    }
    if (!alone) parts_.database->run("RELEASE job");
  }
}

// The job's own failure is its result; a failure of the database ends the group (DatabaseError).
void Writer::run_job(Job& job, Tx& tx) {
  try {
    job.result = job.fn(tx);
  } catch (const DatabaseError& error) {
    if (error.fault() != DatabaseFault::constraint) throw;
    job.result = fail(error.error());
  } catch (const std::exception& error) {
    job.result = fail(ErrorCode::internal, std::string("a step of the store failed: ") + error.what());
  }
}

void Writer::set_durability(Durability durability) {
  if (set_ == durability) return;
  set_.reset();
  // FULL syncs the write-ahead log in each commit; NORMAL leaves it to the kernel, which outlives the process.
  parts_.database->execute(durability == Durability::power ? "PRAGMA synchronous = FULL"
                                                           : "PRAGMA synchronous = NORMAL");
  set_ = durability;
}

void Writer::roll_back() {
  if (!parts_.database->in_transaction()) return;  // SQLite has done it already
  try {
    parts_.database->run("ROLLBACK");
  } catch (const DatabaseError& error) {
    note(error, "rollback");
    broken_ = true;
  }
}

void Writer::note(const DatabaseError& error, const char* what) {
  log::error("store.failed", {{"step", what}, {"code", error.code()}, {"reason", error.what()}});
}

// Pages written to the log since the last checkpoint. The log begins anew once all of it was moved and nobody reads it.
int Writer::unmoved_pages() const {
  const int pages = parts_.database->wal_pages();
  return pages < moved_pages_ ? pages : pages - moved_pages_;
}

void Writer::checkpoint() {
  if (broken_ || unmoved_pages() == 0) return;
  moved_pages_ = parts_.database->wal_pages();
  const Steady::time_point start = Steady::now();
  try {
    parts_.database->checkpoint();
  } catch (const DatabaseError& error) {
    note(error, "checkpoint");
    if (error.fault() == DatabaseFault::full) {
      // All is still in the write-ahead log.
      full_ = true;
      if (parts_.reserve.release()) log::error("store.full", {{"reserve", "given back"}});
    } else if (error.fault() != DatabaseFault::busy) {
      broken_ = true;  // a failed sync may have lost what was committed before it
    }
  }
  checkpoint_nanoseconds_ += since(start);
  ++checkpoints_;
}

}  // namespace sallyport::gateway
