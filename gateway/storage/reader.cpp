#include "gateway/storage/reader.hpp"

#include <exception>
#include <utility>

namespace sallyport::gateway {

Status read_once(Database& database, const trust::SealKey* seal_key, const std::function<Status(SqliteTx&)>& fn) {
  Status result;
  try {
    database.run("BEGIN");
    SqliteTx tx(database, seal_key, nullptr);
    result = fn(tx);
  } catch (const DatabaseError& error) {
    result = fail(error.error());
  } catch (const std::exception& error) {
    result = fail(ErrorCode::internal, std::string("a read of the store failed: ") + error.what());
  }
  try {
    if (database.in_transaction()) database.run("ROLLBACK");
  } catch (const DatabaseError& error) {
    if (result) result = fail(error.error());
  }
  return result;
}

Reader::Reader(Parts parts) : parts_(std::move(parts)) {
  thread_ = std::thread([this] { work(); });
}

Reader::~Reader() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

Status Reader::enqueue(Job& job) {
  {
    const std::scoped_lock lock(mutex_);
    if (stopping_) return fail(ErrorCode::unavailable, "the store is closing");
    if (queue_.size() >= parts_.queue_limit) {
      return fail(ErrorCode::limit, "too many reads of the store wait", ErrorSource::gateway, RetryClass::later);
    }
    queue_.push_back(std::move(job));
  }
  wake_.notify_one();
  return {};
}

void Reader::work() {
  while (true) {
    std::vector<Job> done;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      done.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    Job& job = done.front();
    job.result = read_once(*parts_.database, &parts_.seal_key, [&job](SqliteTx& tx) { return job.fn(tx); });
    parts_.complete(std::move(done));
  }
}

}  // namespace sallyport::gateway
