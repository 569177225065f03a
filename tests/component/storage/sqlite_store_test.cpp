// What is SQLite's own: group commit, refusing what is damaged, reading beside an owner.
#include "gateway/storage/sqlite_store.hpp"

#include <sqlite3.h>
#include <sys/stat.h>

#include <thread>

#include "tests/component/storage/store_fixture.hpp"
#include "tests/support/vfs_shim.hpp"

namespace sallyport::test {
namespace {

Status append(Tx& tx, int number) {
  const Result<Appended> appended = tx.append(receipt_of(op(number)));
  return appended ? Status() : fail(appended.error());
}

// Changes the closed store behind its back.
void tamper(const std::string& state, const std::string& sql) {
  sqlite3* handle = nullptr;
  ASSERT_EQ(sqlite3_open((state + "/store.db").c_str(), &handle), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_free(message);
  sqlite3_close(handle);
}

class SqliteStoreTest : public ::testing::Test {
 protected:
  void fill(int count) {
    ASSERT_OK(home_.open());
    ASSERT_OK(home_.commit(Durability::power, [count](Tx& tx) -> Status {
      for (int i = 0; i < count; ++i) {
        if (Status done = append(tx, i); !done) return done;
      }
      return {};
    }));
    home_.close();
  }
  // The message of the refusal; empty if it opens.
  std::string refusal() {
    const Status opened = home_.open();
    if (!opened) return opened.error().message;
    home_.close();
    return "";
  }
  StoreHome home_;
};

asio::awaitable<void> write_many(SqliteStore& store, int writer, int count, int& done) {
  for (int i = 0; i < count; ++i) {
    auto step = [number = writer * 1000 + i](Tx& tx) { return append(tx, number); };
    const Status status = co_await store.commit(Durability::power, step);
    if (status) ++done;
  }
}

TEST_F(SqliteStoreTest, ThirtyTwoWritersShareSyncsAndLeaveNoGapOrFork) {
  constexpr int kWriters = 32;
  constexpr int kEach = 30;
  VfsShim shim("count-syncs");
  home_.use_vfs(shim.name());
  ASSERT_OK(home_.open());
  const std::uint64_t before = shim.syncs();
  int done = 0;
  for (int writer = 0; writer < kWriters; ++writer) {
    asio::co_spawn(home_.loop(), write_many(home_.store(), writer, kEach, done), asio::detached);
  }
  home_.loop().restart();
  home_.loop().run();
  const std::uint64_t syncs = shim.syncs() - before;
  EXPECT_EQ(done, kWriters * kEach);
  EXPECT_LE(syncs, static_cast<std::uint64_t>(kWriters * kEach / 8));
  EXPECT_GT(syncs, 0U);
  home_.close();
  const trust::VerifyReport report = home_.verify();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  EXPECT_EQ(report.entries, static_cast<std::uint64_t>(kWriters * kEach));
}

TEST_F(SqliteStoreTest, OnlyAGroupWithAPowerMemberSyncs) {
  VfsShim shim("durability");
  home_.use_vfs(shim.name());
  ASSERT_OK(home_.open());
  ASSERT_OK(home_.commit(Durability::power, [](Tx& tx) { return append(tx, 0); }));
  const std::uint64_t before = shim.syncs();
  for (int i = 1; i < 10; ++i) {
    ASSERT_OK(home_.commit(Durability::crash, [i](Tx& tx) { return append(tx, i); }));
  }
  EXPECT_EQ(shim.syncs(), before);
  ASSERT_OK(home_.commit(Durability::power, [](Tx& tx) { return append(tx, 10); }));
  EXPECT_GT(shim.syncs(), before);
  home_.close();
}

TEST_F(SqliteStoreTest, AReadSeesEveryCommitThatWasCompleted) {
  ASSERT_OK(home_.open());
  auto both = [this](int number, int& wrong) -> asio::awaitable<void> {
    auto step = [number](Tx& tx) { return append(tx, number); };
    const Status wrote = co_await home_.store().commit(Durability::crash, step);
    if (!wrote) ++wrong;
    auto look = [number, &wrong](Tx& tx) -> Status {
      if (tx.receipts({.operation = op(number)}).size() != 1) ++wrong;
      return {};
    };
    const Status seen = co_await home_.store().read(look);
    if (!seen) ++wrong;
  };
  int wrong = 0;
  for (int i = 0; i < 200; ++i) asio::co_spawn(home_.loop(), both(i, wrong), asio::detached);
  home_.loop().restart();
  home_.loop().run();
  EXPECT_EQ(wrong, 0);
}

TEST_F(SqliteStoreTest, ALongReadDoesNotHoldUpAWrite) {
  ASSERT_OK(home_.open());
  std::atomic<bool> reading = false;
  std::atomic<bool> go = false;
  std::optional<Status> read;
  auto slow = [&](Tx& tx) -> Status {
    const std::size_t before = tx.receipts({}).size();
    reading = true;
    reading.notify_all();
    go.wait(false);
    EXPECT_EQ(tx.receipts({}).size(), before);  // one snapshot
    return {};
  };
  auto keep = [&read](const std::exception_ptr&, Status status) { read = std::move(status); };
  asio::co_spawn(home_.loop(), home_.store().read(slow), keep);
  home_.loop().restart();
  home_.loop().poll();
  reading.wait(false);
  std::optional<Status> wrote;
  auto kept = [&](const std::exception_ptr&, Status status) {
    wrote = std::move(status);
    go = true;
    go.notify_all();
  };
  auto step = [](Tx& tx) { return append(tx, 1); };
  asio::co_spawn(home_.loop(), home_.store().commit(Durability::power, step), kept);
  home_.loop().run();
  EXPECT_TRUE(wrote && *wrote);
  EXPECT_TRUE(read && *read);
}

TEST_F(SqliteStoreTest, WhatWaitsIsWrittenWhenItCloses) {
  ASSERT_OK(home_.open());
  int done = 0;
  for (int i = 0; i < 100; ++i) {
    auto step = [i](Tx& tx) { return append(tx, i); };
    auto keep = [&done](const std::exception_ptr&, Status status) { done += status ? 1 : 0; };
    asio::co_spawn(home_.loop(), home_.store().commit(Durability::power, step), keep);
  }
  home_.loop().restart();
  home_.loop().poll();
  home_.close();
  EXPECT_EQ(done, 100);
  EXPECT_FALSE(std::filesystem::exists(home_.path() + "/store.db-wal"));
  EXPECT_EQ(home_.verify().entries, 100U);
}

TEST_F(SqliteStoreTest, GoesOnWhereItEnded) {
  fill(5);
  fill(5);
  const trust::VerifyReport report = home_.verify();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  EXPECT_EQ(report.entries, 10U);
}

TEST_F(SqliteStoreTest, ADamagedEndOfTheLogIsRefusedByItsNumber) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"UPDATE receipts SET payload = replace(payload, 'agent:ci', 'agent:xx') WHERE seq = 7", "receipt 7"},
      {"UPDATE receipts SET signature = zeroblob(64) WHERE seq = 9", "receipt 9"},
      {"UPDATE receipts SET signature = x'00' WHERE seq = 9", "receipt 9"},
      {"DELETE FROM receipts WHERE seq = 4", "receipt 4"},
      {"UPDATE receipts SET seq = 20 WHERE seq = 9", "receipt 9"},
      {"UPDATE receipts SET payload = '{' WHERE seq = 3", "receipt 3"},
      {"UPDATE receipts SET payload = (SELECT payload FROM receipts WHERE seq = 1), signature = (SELECT signature FROM "
       "receipts WHERE seq = 1) WHERE seq = 5",
       "receipt 5"},
      {"UPDATE receipts SET key = 77 WHERE seq = 2", "receipt 2"},
      {"DELETE FROM receipts WHERE seq = 0", ""},  // an end that is sound: pruned logs begin later
      {"DELETE FROM meta", "log"},
      {"UPDATE receipt_keys SET pem = 'x'", "public key"},
      {"UPDATE meta SET value = 'ffff' WHERE name = 'receipt_key'", "receipts.key"},
  };
  for (const auto& [sql, expected] : cases) {
    StoreHome home;
    ASSERT_OK(home.open());
    ASSERT_OK(home.commit(Durability::power, [](Tx& tx) -> Status {
      for (int i = 0; i < 10; ++i) {
        if (Status done = append(tx, i); !done) return done;
      }
      return {};
    }));
    home.close();
    tamper(home.path(), sql);
    const Status opened = home.open();
    if (expected.empty()) {
      EXPECT_TRUE(opened.has_value()) << sql;
      continue;
    }
    ASSERT_FALSE(opened.has_value()) << sql;
    EXPECT_NE(opened.error().message.find(expected), std::string::npos) << sql << ": " << opened.error().message;
  }
}

TEST_F(SqliteStoreTest, AForeignOrNewerOrBrokenFileIsRefused) {
  fill(1);
  tamper(home_.path(), "PRAGMA user_version = 99");
  EXPECT_NE(refusal().find("newer"), std::string::npos);
  tamper(home_.path(), "PRAGMA user_version = 1; PRAGMA application_id = 5");
  EXPECT_NE(refusal().find("not made by sallyport"), std::string::npos);
  EXPECT_FALSE(open_read_only(home_.path()).has_value());
  std::ofstream(home_.path() + "/store.db", std::ios::trunc) << std::string(8192, 'x');
  EXPECT_NE(refusal().find("store.db"), std::string::npos);
  EXPECT_FALSE(open_read_only(home_.path()).has_value());
}

TEST_F(SqliteStoreTest, AnotherSigningKeyIsRefused) {
  fill(1);
  StoreHome other;
  ASSERT_OK(other.open());
  other.close();
  std::filesystem::copy_file(other.path() + "/receipts.key", home_.path() + "/receipts.key",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(refusal().find("receipts.key"), std::string::npos);
}

TEST_F(SqliteStoreTest, ASealedRowMovedElsewhereDoesNotOpen) {
  ASSERT_OK(home_.open());
  ASSERT_OK(home_.commit(Durability::crash, [](Tx& tx) -> Status {
    if (Status done = tx.put_sealed("op_a", "arguments", "a"); !done) return done;
    return tx.put_sealed("op_b", "arguments", "b");
  }));
  home_.close();
  tamper(home_.path(),
         "UPDATE sealed SET bytes = (SELECT bytes FROM sealed WHERE owner = 'op_a') WHERE owner = 'op_b'");
  ASSERT_OK(home_.open());
  ASSERT_OK(home_.read([](Tx& tx) -> Status {
    EXPECT_EQ(tx.sealed("op_a", "arguments").value_or("?"), "a");
    EXPECT_EQ(tx.sealed("op_b", "arguments").error().code, ErrorCode::corrupt);
    return {};
  }));
}

TEST_F(SqliteStoreTest, AnyoneWhoMayReadTheFolderListsReceiptsBesideTheOwnerAndWithout) {
  ASSERT_OK(home_.open());
  ASSERT_OK(home_.commit(Durability::crash, [](Tx& tx) -> Status {
    for (int i = 0; i < 50; ++i) {
      if (Status done = append(tx, i); !done) return done;
    }
    return tx.put_sealed("op_a", "arguments", "x");
  }));
  const auto look = [this] {
    Result<std::unique_ptr<ReadOnlyStore>> store = open_read_only(home_.path());
    ASSERT_OK(store);
    EXPECT_EQ((*store)->log_id().size(), 16U);
    EXPECT_EQ((*store)->receipt_keys().size(), 1U);
    std::size_t seen = 0;
    ASSERT_OK((*store)->each_receipt({.limit = 1000}, [&seen](const ReceiptRow&) { return ++seen < 20; }));
    EXPECT_EQ(seen, 20U);
    ASSERT_OK((*store)->read([](Tx& tx) -> Status {
      EXPECT_EQ(tx.receipts({.limit = 1000}).size(), 50U);
      EXPECT_EQ(tx.sealed("op_a", "arguments").error().code, ErrorCode::forbidden);
      EXPECT_FALSE(tx.put_setting("a", "b").has_value());
      return {};
    }));
  };
  look();
  home_.close();
  look();
  ASSERT_EQ(::chmod(home_.path().c_str(), 0500), 0);
  look();
  ASSERT_EQ(::chmod(home_.path().c_str(), 0700), 0);
  EXPECT_EQ(open_read_only(home_.path() + "/none").error().code, ErrorCode::not_found);
}

TEST_F(SqliteStoreTest, IsOpenedForWritingOnlyByTheOwner) {
  fill(1);
  Result<StateFolder> looked = StateFolder::look(home_.path());
  ASSERT_OK(looked);
  StoreOptions options;
  options.folder = &*looked;
  EXPECT_FALSE(open_store(options, home_.loop().get_executor(), home_.clock(), system_entropy()).has_value());
}

TEST_F(SqliteStoreTest, NoFileOfItIsForOthers) {
  ASSERT_OK(home_.open());
  ASSERT_OK(home_.commit(Durability::power, [](Tx& tx) { return append(tx, 1); }));
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(home_.path())) {
    ++files;
    if (entry.path().extension() == ".pub") continue;
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(077), std::filesystem::perms::none) << entry.path();
  }
  EXPECT_GE(files, 10U);
}

TEST_F(SqliteStoreTest, AReaderThatStaysDoesNotMakeEachCommitACheckpoint) {
  ASSERT_OK(home_.open());
  Result<std::unique_ptr<ReadOnlyStore>> reader = open_read_only(home_.path());
  ASSERT_OK(reader);
  ASSERT_OK(home_.commit(Durability::crash, [](Tx& tx) { return append(tx, 1); }));
  ASSERT_OK((*reader)->read([this](Tx& held) -> Status {
    EXPECT_EQ(held.receipts({}).size(), 1U);  // holds its snapshot from here on
    for (int i = 0; i < 40; ++i) {
      const Status done = home_.commit(Durability::crash, [i](Tx& tx) {
        return tx.put_sealed("op_" + std::to_string(i), "result", std::string(1 << 20, 'r'));
      });
      if (!done) return done;
    }
    const std::uint64_t checkpoints = home_.store().stats().checkpoints;
    EXPECT_GE(checkpoints, 1U);
    for (int i = 0; i < 100; ++i) {
      if (Status done = home_.commit(Durability::crash, [i](Tx& tx) { return append(tx, i); }); !done) return done;
    }
    EXPECT_LE(home_.store().stats().checkpoints, checkpoints + 2);
    EXPECT_EQ(held.receipts({}).size(), 1U);
    return {};
  }));
}

TEST_F(SqliteStoreTest, TheReserveIsThereAndIsSizedByTheOptions) {
  home_.options().reserve_bytes = 1 << 20;
  ASSERT_OK(home_.open());
  EXPECT_EQ(std::filesystem::file_size(home_.path() + "/reserve"), 1U << 20);
  home_.close();
  home_.options().reserve_bytes = 1ULL << 60;
  EXPECT_NE(refusal().find("reserve"), std::string::npos);
  home_.options().reserve_bytes = 0;
  EXPECT_EQ(refusal(), "");
}

TEST_F(SqliteStoreTest, TheWriteAheadLogIsEmptiedUnderLoad) {
  ASSERT_OK(home_.open());
  for (int i = 0; i < 40; ++i) {
    ASSERT_OK(home_.commit(Durability::crash, [i](Tx& tx) {
      return tx.put_sealed("op_" + std::to_string(i), "result", std::string(1 << 20, 'r'));
    }));
  }
  for (int i = 0; i < 40; ++i) {
    ASSERT_OK(home_.commit(Durability::crash, [i](Tx& tx) { return tx.drop_sealed("op_" + std::to_string(i), ""); }));
  }
  EXPECT_GE(home_.store().stats().checkpoints, 1U);
  EXPECT_LT(std::filesystem::file_size(home_.path() + "/store.db-wal"), 80U << 20);
  EXPECT_TRUE(home_.store().healthy());
}

}  // namespace
}  // namespace sallyport::test
