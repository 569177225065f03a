// Reads beside the writer, on a connection and a thread of their own, so that a list never delays a write.
// Each job sees one snapshot, which holds every commit completed before read() was called.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "gateway/storage/writer.hpp"

namespace sallyport::gateway {

class Reader {
 public:
  struct Parts {
    std::unique_ptr<Database> database;
    trust::SealKey seal_key{};
    std::size_t queue_limit = 0;
    std::function<void(std::vector<Job>)> complete;
  };
  explicit Reader(Parts parts);
  ~Reader();  // runs what waits, then ends the thread
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  Status enqueue(Job& job);  // any thread; ErrorCode::limit when too much waits

 private:
  void work();

  Parts parts_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job> queue_;  // under mutex_
  bool stopping_ = false;  // under mutex_
  std::thread thread_;
};

// Runs `fn` in one read transaction; its failures and the database's come back as errors.
Status read_once(Database& database, const trust::SealKey* seal_key, const std::function<Status(SqliteTx&)>& fn);

}  // namespace sallyport::gateway
