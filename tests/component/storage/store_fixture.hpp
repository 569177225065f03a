// What the tests of the store share: a folder that goes with the test, a clock that stands still, and a store on a loop
// that runs only while something is waited for.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/storage/sqlite_store.hpp"
#include "gateway/storage/state_folder.hpp"
#include "schemas/core/ids.hpp"
#include "trust/receipts/receipt.hpp"
#include "trust/receipts/verify.hpp"

namespace sallyport::test {

using namespace sallyport::gateway;

class TempFolder {
 public:
  TempFolder() {
    // In memory where that is possible: hundreds of stores are opened here, and the disk's syncs are not what is
    // tested.
    const std::filesystem::path memory = "/dev/shm";
    const bool quick = ::access(memory.c_str(), W_OK) == 0;
    std::string name = ((quick ? memory : std::filesystem::temp_directory_path()) / "sallyport-store-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path_); }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class StillClock final : public Clock {
 public:
  [[nodiscard]] UnixMillis now() const override { return now_; }
  void set(UnixMillis now) { now_ = now; }
  void pass(UnixMillis time) { now_ += time; }

 private:
  std::atomic<UnixMillis> now_ = 1'796'000'000'000;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string op(int number) {
  return make_id("op", 1,
                 {0, 0, 0, 0, 0, 0, 0, 0, static_cast<std::uint8_t>(number >> 8), static_cast<std::uint8_t>(number)});
}

inline trust::ReceiptBody receipt_of(const std::string& operation, trust::ReceiptKind kind = trust::ReceiptKind::call) {
  trust::ReceiptBody body;
  body.kind = kind;
  body.operation = operation;
  body.principal = "agent:ci";
  body.server_id = "orders";
  body.tool = "get_order";
  body.gateway = {"0.1.0", "b7d1f6", "service", ""};
  return body;
}

inline OperationRow operation_row(const std::string& id) {
  OperationRow row;
  row.id = id;
  row.principal = "agent:ci";
  row.server = "orders";
  row.tool = "get_order";
  return row;
}

// A state folder and a store in it. close() and open() again at will.
class StoreHome {
 public:
  explicit StoreHome(std::string vfs = "") : vfs_(std::move(vfs)) {}

  Status open() {
    Result<StateFolder> folder = StateFolder::own(path(), "test", system_entropy());
    if (!folder) return fail(folder.error());
    folder_ = std::make_unique<StateFolder>(std::move(*folder));
    options_.folder = folder_.get();
    options_.vfs = vfs_;
    Result<std::unique_ptr<SqliteStore>> store = open_store(options_, loop_.get_executor(), clock_, system_entropy());
    if (!store) {
      folder_.reset();
      return fail(store.error());
    }
    store_ = std::move(*store);
    return {};
  }
  void close() {
    store_.reset();
    folder_.reset();
    loop_.restart();
    loop_.run();
  }
  void use_vfs(std::string vfs) { vfs_ = std::move(vfs); }

  Status commit(Durability durability, std::function<Status(Tx&)> fn) { return wait(store_->commit(durability, fn)); }
  Status read(std::function<Status(Tx&)> fn) { return wait(store_->read(fn)); }
  Status wait(asio::awaitable<Status> task) {
    std::optional<Status> result;
    auto keep = [&result](std::exception_ptr error, Status status) {
      if (error) std::rethrow_exception(error);
      result = std::move(status);
    };
    asio::co_spawn(loop_, std::move(task), keep);
    loop_.restart();
    loop_.run();
    EXPECT_TRUE(result.has_value());
    return result ? *result : fail(ErrorCode::internal, "never completed");
  }

  SqliteStore& store() { return *store_; }
  StillClock& clock() { return clock_; }
  asio::io_context& loop() { return loop_; }
  StoreOptions& options() { return options_; }
  [[nodiscard]] std::string path() const { return folder_path_.file("state"); }

  // What an auditor would say of the log, with the exported public key alone.
  trust::VerifyReport verify() {
    trust::VerifyOptions options;
    const Result<trust::PublicKey> key = trust::PublicKey::from_pem(slurp(path() + "/receipts.pub"));
    EXPECT_TRUE(key.has_value());
    if (key) options.keys.push_back(*key);
    trust::Verifier verifier(options);
    const Result<std::unique_ptr<ReadOnlyStore>> store = open_read_only(path());
    EXPECT_TRUE(store.has_value()) << (store ? "" : store.error().message);
    if (!store) return verifier.finish();
    ReceiptFilter all;
    all.newest_first = false;
    all.limit = 1'000'000;
    const Status done = (*store)->each_receipt(all, [&verifier](const ReceiptRow& row) {
      verifier.line(row.envelope);
      return true;
    });
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    return verifier.finish();
  }

 private:
  TempFolder folder_path_;
  std::string vfs_;
  StillClock clock_;
  asio::io_context loop_;
  StoreOptions options_;
  std::unique_ptr<StateFolder> folder_;
  std::unique_ptr<SqliteStore> store_;
};

#define ASSERT_OK(expression)                                                           \
  do {                                                                                  \
    const auto& ok_result = (expression);                                               \
    ASSERT_TRUE(ok_result.has_value()) << (ok_result ? "" : ok_result.error().message); \
  } while (false)

}  // namespace sallyport::test
