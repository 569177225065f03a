// What every Store does, whatever stands behind it. The suite takes a maker of homes as its parameter; SQLite is the
// only one today.
#include "tests/component/storage/store_fixture.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::test {
namespace {

using Maker = std::unique_ptr<StoreHome> (*)();

class StoreContract : public ::testing::TestWithParam<Maker> {
 protected:
  void SetUp() override {
    home_ = GetParam()();
    ASSERT_OK(home_->open());
  }
  Status write(std::function<Status(Tx&)> fn) { return home_->commit(Durability::crash, std::move(fn)); }
  Status read(std::function<Status(Tx&)> fn) { return home_->read(std::move(fn)); }
  void reopen() {
    home_->close();
    ASSERT_OK(home_->open());
  }
  std::unique_ptr<StoreHome> home_;
};

TEST_P(StoreContract, AppendNumbersChainsAndSignsReceipts) {
  std::vector<Appended> made;
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(write([&](Tx& tx) -> Status {
      Result<Appended> appended = tx.append(receipt_of(op(static_cast<int>(i))));
      if (!appended) return fail(appended.error());
      made.push_back(*appended);
      return {};
    }));
  }
  ASSERT_EQ(made.size(), 3U);
  std::vector<ReceiptRow> rows;
  ASSERT_OK(read([&](Tx& tx) -> Status {
    ReceiptFilter filter;
    filter.newest_first = false;
    rows = tx.receipts(filter);
    return {};
  }));
  ASSERT_EQ(rows.size(), 3U);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].seq, i);
    EXPECT_EQ(rows[i].id, made[i].id);
    EXPECT_EQ(rows[i].kind, "call");
    EXPECT_EQ(trust::digest_text(rows[i].payload), made[i].digest);
    EXPECT_EQ(rows[i].time, home_->clock().now());
    if (i > 0) {
      EXPECT_NE(rows[i].payload.find(made[i - 1].digest), std::string::npos);
    }
  }
  const trust::VerifyReport report = home_->verify();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  EXPECT_EQ(report.entries, 3U);
  EXPECT_EQ(report.log, home_->store().log_id());
}

TEST_P(StoreContract, AFailedStepKeepsNothingAndLeavesNoGap) {
  const auto append = [](Tx& tx) -> Status {
    Result<Appended> appended = tx.append(receipt_of(op(1)));
    return appended ? Status() : fail(appended.error());
  };
  ASSERT_OK(write(append));
  const Status failed = write([&](Tx& tx) -> Status {
    if (Status done = append(tx); !done) return done;
    if (Status done = tx.put_setting("mode", "on"); !done) return done;
    return fail(ErrorCode::forbidden, "no");
  });
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, ErrorCode::forbidden);
  EXPECT_EQ(failed.error().message, "no");
  const Status thrown = write([&](Tx& tx) -> Status {
    if (Status done = append(tx); !done) return done;
    throw std::runtime_error("boom");
  });
  ASSERT_FALSE(thrown.has_value());
  EXPECT_EQ(thrown.error().code, ErrorCode::internal);
  ASSERT_OK(write(append));
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_FALSE(tx.setting("mode").has_value());
    return {};
  }));
  EXPECT_TRUE(home_->store().healthy());
  const trust::VerifyReport report = home_->verify();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  EXPECT_EQ(report.entries, 2U);
}

TEST_P(StoreContract, StepsOfOneGroupFailAlone) {
  // All are queued before the loop runs, so they share a group; every third fails after it has written.
  std::vector<std::optional<Status>> results(60);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto step = [i](Tx& tx) -> Status {
      Result<Appended> appended = tx.append(receipt_of(op(static_cast<int>(i))));
      if (!appended) return fail(appended.error());
      if (Status done = tx.bump_revision("orders", "a"); !done) return done;
      if (i % 3 == 0) return fail(ErrorCode::conflict, "every third");
      return {};
    };
    auto keep = [&results, i](const std::exception_ptr&, Status status) { results[i] = std::move(status); };
    asio::co_spawn(home_->loop(), home_->store().commit(Durability::power, std::move(step)), keep);
  }
  home_->loop().restart();
  home_->loop().run();
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].has_value());
    EXPECT_EQ(results[i]->has_value(), i % 3 != 0) << i;
  }
  EXPECT_LT(home_->store().stats().groups, results.size());
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_EQ(tx.revision("orders", "a"), 40U);
    return {};
  }));
  const trust::VerifyReport report = home_->verify();
  EXPECT_TRUE(report.ok()) << trust::to_text(report);
  EXPECT_EQ(report.entries, 40U);
}

TEST_P(StoreContract, StepsThatRunTwiceCountOnce) {
  constexpr int kSteps = 12;
  std::vector<int> runs(kSteps, 0);
  std::vector<std::optional<Status>> results(kSteps);
  for (int i = 0; i < kSteps; ++i) {
    auto step = [&runs, i](Tx& tx) -> Status {
      ++runs[static_cast<std::size_t>(i)];
      if (Status done = tx.bump_revision("s", "a"); !done) return done;
      if (i == kSteps - 1) throw std::runtime_error("the last one fails");
      return {};
    };
    auto keep = [&results, i](const std::exception_ptr&, Status status) {
      results[static_cast<std::size_t>(i)] = std::move(status);
    };
    asio::co_spawn(home_->loop(), home_->store().commit(Durability::crash, step), keep);
  }
  home_->loop().restart();
  home_->loop().run();
  for (std::size_t i = 0; i < kSteps; ++i) {
    EXPECT_GE(runs[i], 1);
    EXPECT_LE(runs[i], 2);
    ASSERT_TRUE(results[i].has_value());
    EXPECT_EQ(results[i]->has_value(), i + 1 < kSteps);
  }
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_EQ(tx.revision("s", "a"), static_cast<std::uint64_t>(kSteps - 1));
    return {};
  }));
}

TEST_P(StoreContract, LaterStepsOfAGroupSeeEarlierOnes) {
  std::vector<std::uint64_t> seen;
  for (int i = 0; i < 10; ++i) {
    auto step = [&seen](Tx& tx) -> Status {
      seen.push_back(tx.revision("s", ""));
      return tx.bump_revision("s", "");
    };
    asio::co_spawn(home_->loop(), home_->store().commit(Durability::crash, step), asio::detached);
  }
  home_->loop().restart();
  home_->loop().run();
  ASSERT_EQ(seen.size(), 10U);
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
}

TEST_P(StoreContract, PostedStepsAreKept) {
  home_->store().post([](Tx& tx) { return tx.put(operation_row("op_posted")); });
  home_->store().post([](Tx&) -> Status { return fail(ErrorCode::invalid, "its own fault"); });
  ASSERT_OK(write([](Tx& tx) -> Status {
    EXPECT_TRUE(tx.operation("op_posted").has_value());
    return {};
  }));
  home_->store().post([](Tx& tx) { return tx.put_setting("last", "yes"); });
  reopen();
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_EQ(tx.setting("last"), "yes");
    return {};
  }));
  EXPECT_TRUE(home_->store().healthy());
}

TEST_P(StoreContract, ReadsCannotWrite) {
  const Status put = read([](Tx& tx) { return tx.put_setting("a", "b"); });
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().code, ErrorCode::internal);
  const Status append = read([](Tx& tx) -> Status {
    const Result<Appended> appended = tx.append(receipt_of(op(1)));
    return appended ? Status() : fail(appended.error());
  });
  EXPECT_FALSE(append.has_value());
}

TEST_P(StoreContract, AReceiptIdIsUsedOnce) {
  const auto append = [](Tx& tx) -> Status {
    trust::ReceiptBody body = receipt_of(op(1));
    body.id = "rc_01KB9Z3W9Q8V5M0F7T2N6R4XHC";
    const Result<Appended> appended = tx.append(std::move(body));
    return appended ? Status() : fail(appended.error());
  };
  ASSERT_OK(write(append));
  const Status again = write(append);
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, ErrorCode::conflict);
  EXPECT_TRUE(home_->store().healthy());
  EXPECT_EQ(home_->verify().entries, 1U);
}

TEST_P(StoreContract, ReceiptsAreFoundByEveryFilter) {
  const UnixMillis start = home_->clock().now();
  ASSERT_OK(write([&](Tx& tx) -> Status {
    for (int i = 0; i < 40; ++i) {
      home_->clock().set(start + i * 1000);
      trust::ReceiptBody body = receipt_of(op(i % 2));
      body.kind = i % 4 == 0 ? trust::ReceiptKind::refusal : trust::ReceiptKind::call;
      body.principal = i % 5 == 0 ? "agent:b" : "agent:a";
      body.server_id = i % 8 == 0 ? "files" : "orders";
      body.tool = i % 10 == 0 ? "write" : "read";
      trust::DecisionRecord decision;
      decision.verdict = i % 4 == 0 ? Verdict::deny : Verdict::allow;
      body.decision = decision;
      body.outcome = trust::OutcomeRecord{i == 7 ? Outcome::unknown : Outcome::applied, "answered"};
      if (const Result<Appended> appended = tx.append(std::move(body)); !appended) return fail(appended.error());
    }
    return {};
  }));
  const auto count = [&](const ReceiptFilter& filter) {
    std::size_t found = 0;
    EXPECT_TRUE(read([&](Tx& tx) -> Status {
                  found = tx.receipts(filter).size();
                  return {};
                }).has_value());
    return found;
  };
  EXPECT_EQ(count({}), 40U);
  EXPECT_EQ(count({.operation = op(0)}), 20U);
  EXPECT_EQ(count({.principal = "agent:b"}), 8U);
  EXPECT_EQ(count({.server = "files"}), 5U);
  EXPECT_EQ(count({.tool = "write"}), 4U);
  EXPECT_EQ(count({.server = "orders", .tool = "write"}), 3U);
  EXPECT_EQ(count({.kind = "refusal"}), 10U);
  EXPECT_EQ(count({.kind = "call"}), 30U);
  EXPECT_EQ(count({.verdict = "deny"}), 10U);
  EXPECT_EQ(count({.verdict = "allow"}), 30U);
  EXPECT_EQ(count({.outcome = "unknown"}), 1U);
  EXPECT_EQ(count({.outcome = "applied"}), 39U);
  EXPECT_EQ(count({.since = start + 30'000}), 10U);
  EXPECT_EQ(count({.since = start + 30'001}), 9U);
  EXPECT_EQ(count({.since = start + 100'000}), 0U);
  EXPECT_EQ(count({.from_seq = 38}), 2U);
  EXPECT_EQ(count({.limit = 3}), 3U);
  EXPECT_EQ(count({.operation = "' OR 1 = 1 --"}), 0U);
  ASSERT_OK(read([&](Tx& tx) -> Status {
    const std::vector<ReceiptRow> newest = tx.receipts({.limit = 1});
    EXPECT_EQ(newest.at(0).seq, 39U);
    const std::optional<ReceiptRow> same = tx.receipt(newest.at(0).id);
    EXPECT_TRUE(same.has_value());
    if (same) {
      EXPECT_EQ(same->envelope, newest.at(0).envelope);
    }
    EXPECT_FALSE(tx.receipt("rc_none").has_value());
    return {};
  }));
}

TEST_P(StoreContract, SinceFindsReceiptsThoughTheClockStepsBack) {
  const UnixMillis start = home_->clock().now();
  ASSERT_OK(write([&](Tx& tx) -> Status {
    for (const UnixMillis offset : {10, 50, 20, 30, 60, 5}) {
      home_->clock().set(start + offset);
      if (const Result<Appended> appended = tx.append(receipt_of(op(1))); !appended) return fail(appended.error());
    }
    return {};
  }));
  ASSERT_OK(read([&](Tx& tx) -> Status {
    EXPECT_EQ(tx.receipts({.since = start + 30}).size(), 3U);
    EXPECT_EQ(tx.receipts({.since = start + 20}).size(), 4U);
    return {};
  }));
}

TEST_P(StoreContract, OperationsComeBackAsTheyWerePut) {
  OperationRow row = operation_row("op_full");
  row.state = OperationState::awaiting_input;
  row.unknown = Unknown::lost;
  row.outcome = Outcome::unknown;
  row.basis = "timeout";
  row.session = "se_1";
  row.run = "run_1";
  row.scope = "orders/a%2Fb";
  row.contract_scope = true;
  row.is_read = false;
  row.effect = "record";
  row.definition = "sha256:00";
  row.fingerprint = "77e0";
  row.key = "k-1";
  row.approval = "ap_1";
  row.attempts = 3;
  row.delivered = true;
  row.receipt = "rc_1";
  row.summary = std::string("with \0 inside", 13);
  row.reason = "lost";
  row.created = 5;
  row.updated = 6;
  ASSERT_OK(write([&](Tx& tx) { return tx.put(row); }));
  reopen();
  ASSERT_OK(read([&](Tx& tx) -> Status {
    const std::optional<OperationRow> back = tx.operation("op_full");
    EXPECT_TRUE(back.has_value());
    if (!back) return {};
    EXPECT_EQ(back->state, row.state);
    EXPECT_EQ(back->unknown, row.unknown);
    EXPECT_EQ(back->outcome, row.outcome);
    EXPECT_EQ(back->basis, row.basis);
    EXPECT_EQ(back->session, row.session);
    EXPECT_EQ(back->run, row.run);
    EXPECT_EQ(back->scope, row.scope);
    EXPECT_TRUE(back->contract_scope);
    EXPECT_FALSE(back->is_read);
    EXPECT_EQ(back->effect, row.effect);
    EXPECT_EQ(back->definition, row.definition);
    EXPECT_EQ(back->fingerprint, row.fingerprint);
    EXPECT_EQ(back->key, row.key);
    EXPECT_EQ(back->approval, row.approval);
    EXPECT_EQ(back->attempts, 3);
    EXPECT_TRUE(back->delivered);
    EXPECT_EQ(back->receipt, row.receipt);
    EXPECT_EQ(back->summary, row.summary);
    EXPECT_EQ(back->reason, row.reason);
    EXPECT_EQ(back->created, 5);
    EXPECT_EQ(back->updated, 6);
    return {};
  }));
  EXPECT_FALSE(write([](Tx& tx) { return tx.put(OperationRow{}); }).has_value());
}

TEST_P(StoreContract, OperationsAreFoundByEveryFilter) {
  ASSERT_OK(write([&](Tx& tx) -> Status {
    for (int i = 0; i < 30; ++i) {
      OperationRow row = operation_row("op_" + std::to_string(i));
      row.state = i % 3 == 0 ? OperationState::unknown : i % 3 == 1 ? OperationState::applied : OperationState::sent;
      row.fingerprint = i % 2 == 0 ? "even" : "odd";
      row.key = i == 4 ? "k-4" : "";
      row.run = i < 10 ? "run_1" : "run_2";
      row.is_read = i == 8;
      if (Status done = tx.put(row); !done) return done;
    }
    // Settled again: it must leave the list of open ones.
    std::optional<OperationRow> first = tx.operation("op_0");
    if (!first) return fail(ErrorCode::not_found, "op_0");
    first->state = OperationState::resolved_none;
    return tx.put(*first);
  }));
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_EQ(tx.operations({}).size(), 30U);
    EXPECT_EQ(tx.operations({.states = {OperationState::unknown}}).size(), 9U);
    EXPECT_EQ(tx.operations({.states = {OperationState::unknown, OperationState::sent}}).size(), 19U);
    EXPECT_EQ(tx.operations({.states = {OperationState::unknown, OperationState::applied}}).size(), 19U);
    EXPECT_EQ(tx.operations({.fingerprint = "even"}).size(), 14U);  // not the read
    EXPECT_EQ(tx.operations({.key = "k-4"}).size(), 1U);
    EXPECT_EQ(tx.operations({.run = "run_1"}).size(), 10U);
    EXPECT_EQ(tx.operations({.principal = "agent:ci", .server = "orders", .tool = "get_order"}).size(), 30U);
    EXPECT_EQ(tx.operations({.principal = "nobody"}).size(), 0U);
    const std::vector<OperationRow> two = tx.operations({.limit = 2});
    EXPECT_EQ(two.at(0).id, "op_29");
    EXPECT_EQ(two.at(1).id, "op_28");
    return {};
  }));
}

TEST_P(StoreContract, ApprovalsAndStopsComeBack) {
  ASSERT_OK(write([](Tx& tx) -> Status {
    for (int i = 0; i < 5; ++i) {
      ApprovalRow row;
      row.id = "ap_" + std::to_string(i);
      row.operation = i < 3 ? "op_a" : "op_b";
      row.state = i == 0 ? "denied" : "pending";
      row.body = "{}";
      row.expires = 9;
      if (Status done = tx.put(row); !done) return done;
    }
    if (Status done = tx.put(StopRow{"st_1", "server", "orders", "", "user:dana", "drill", 1, 0}); !done) return done;
    return tx.put(StopRow{"st_2", "tool", "orders", "refund", "user:dana", "over", 1, 2});
  }));
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_EQ(tx.approvals("pending", 100).size(), 4U);
    EXPECT_EQ(tx.approvals("pending", 2).at(0).id, "ap_4");
    EXPECT_EQ(tx.approvals("", 100).size(), 5U);
    EXPECT_EQ(tx.approval_of("op_a")->id, "ap_2");
    EXPECT_FALSE(tx.approval_of("op_c").has_value());
    EXPECT_EQ(tx.approval("ap_0")->state, "denied");
    EXPECT_EQ(tx.approval("ap_3")->expires, 9);
    EXPECT_EQ(tx.stops(true).size(), 1U);
    EXPECT_EQ(tx.stops(false).size(), 2U);
    EXPECT_EQ(tx.stops(true).at(0).reason, "drill");
    return {};
  }));
}

TEST_P(StoreContract, AWriteMovesTheRevisionOfEveryOverlappingScopeAndOfNoOther) {
  const std::vector<std::string> scopes{"", "orders", "orders/7", "orders/7/lines", "orders/70", "ordersx", "files"};
  const auto overlap = [](const std::string& a, const std::string& b) {
    const std::string& shorter = a.size() < b.size() ? a : b;
    const std::string& longer = a.size() < b.size() ? b : a;
    return shorter.empty() || longer == shorter || longer.starts_with(shorter + "/");
  };
  for (const std::string& written : scopes) {
    ASSERT_OK(write([&](Tx& tx) -> Status {
      std::vector<std::uint64_t> before;
      for (const std::string& scope : scopes) before.push_back(tx.revision("s", scope));
      const std::uint64_t elsewhere = tx.revision("t", "");
      if (Status done = tx.bump_revision("s", written); !done) return done;
      for (std::size_t i = 0; i < scopes.size(); ++i) {
        EXPECT_EQ(tx.revision("s", scopes[i]), before[i] + (overlap(scopes[i], written) ? 1 : 0))
            << "`" << written << "` written, `" << scopes[i] << "` asked";
      }
      EXPECT_EQ(tx.revision("t", ""), elsewhere);
      return {};
    }));
  }
}

TEST_P(StoreContract, SealedBytesComeBackAndStandNowhereInClear) {
  const std::string secret = "MARK-7f3a-arguments-that-nobody-may-read";
  ASSERT_OK(write([&](Tx& tx) -> Status {
    if (Status done = tx.put_sealed("op_a", "arguments", secret); !done) return done;
    if (Status done = tx.put_sealed("op_a", "result", std::string("\0\xff", 2)); !done) return done;
    return tx.put_sealed("op_b", "arguments", "");
  }));
  ASSERT_OK(read([&](Tx& tx) -> Status {
    EXPECT_EQ(tx.sealed("op_a", "arguments").value_or("gone"), secret);
    EXPECT_EQ(tx.sealed("op_a", "result").value_or("gone"), std::string("\0\xff", 2));
    EXPECT_EQ(tx.sealed("op_b", "arguments").value_or("gone"), "");
    EXPECT_EQ(tx.sealed("op_c", "arguments").error().code, ErrorCode::not_found);
    return {};
  }));
  home_->close();
  for (const auto& entry : std::filesystem::directory_iterator(home_->path())) {
    EXPECT_EQ(slurp(entry.path()).find("MARK-7f3a"), std::string::npos) << entry.path();
  }
  ASSERT_OK(home_->open());
  ASSERT_OK(write([](Tx& tx) { return tx.drop_sealed("op_a", ""); }));
  ASSERT_OK(write([](Tx& tx) { return tx.drop_sealed("op_b", "result"); }));
  ASSERT_OK(read([](Tx& tx) -> Status {
    EXPECT_FALSE(tx.sealed("op_a", "arguments").has_value());
    EXPECT_FALSE(tx.sealed("op_a", "result").has_value());
    EXPECT_TRUE(tx.sealed("op_b", "arguments").has_value());
    return {};
  }));
}

TEST_P(StoreContract, SweepDropsResultsWhoseTimeIsOver) {
  constexpr UnixMillis kHour = 3'600'000;
  ASSERT_OK(write([](Tx& tx) -> Status {
    OperationRow keyed = operation_row("op_keyed");
    keyed.key = "k-1";
    if (Status done = tx.put(keyed); !done) return done;
    if (Status done = tx.put(operation_row("op_plain")); !done) return done;
    for (const char* owner : {"op_keyed", "op_plain", "op_nobody"}) {
      for (const char* kind : {"result", "arguments", "vault"}) {
        if (Status done = tx.put_sealed(owner, kind, "x"); !done) return done;
      }
    }
    return {};
  }));
  const auto kept = [&](const char* owner, const char* kind) {
    bool found = false;
    EXPECT_TRUE(read([&](Tx& tx) -> Status {
                  found = tx.sealed(owner, kind).has_value();
                  return {};
                }).has_value());
    return found;
  };
  const auto sweep_after = [&](UnixMillis time) {
    home_->clock().pass(time);
    return write([&](Tx& tx) { return tx.sweep(home_->clock().now()); });
  };
  ASSERT_OK(sweep_after(23 * kHour));
  EXPECT_TRUE(kept("op_plain", "result"));
  ASSERT_OK(sweep_after(2 * kHour));
  EXPECT_FALSE(kept("op_plain", "result"));
  EXPECT_FALSE(kept("op_nobody", "result"));
  EXPECT_TRUE(kept("op_keyed", "result"));
  ASSERT_OK(sweep_after(7 * 24 * kHour));
  EXPECT_FALSE(kept("op_keyed", "result"));
  EXPECT_TRUE(kept("op_keyed", "arguments"));
  EXPECT_TRUE(kept("op_keyed", "vault"));
  ASSERT_OK(sweep_after(30 * 24 * kHour));
  EXPECT_FALSE(kept("op_keyed", "vault"));
  EXPECT_TRUE(kept("op_plain", "arguments"));
}

TEST_P(StoreContract, KeysOfOperationsAndFingerprintsOutliveTheProcess) {
  const std::string key = home_->store().operation_key("op_a");
  const std::string print = home_->store().fingerprint("{\"a\":1}");
  EXPECT_EQ(key.size(), 32U);
  EXPECT_EQ(print.size(), 64U);
  EXPECT_NE(key, home_->store().operation_key("op_b"));
  EXPECT_NE(print, home_->store().fingerprint("{\"a\":2}"));
  const std::string log = home_->store().log_id();
  EXPECT_EQ(log.size(), 16U);
  reopen();
  EXPECT_EQ(home_->store().operation_key("op_a"), key);
  EXPECT_EQ(home_->store().fingerprint("{\"a\":1}"), print);
  EXPECT_EQ(home_->store().log_id(), log);
}

TEST_P(StoreContract, AFullQueueRefusesAndRecovers) {
  home_->close();
  home_->options().queue_limit = 4;
  ASSERT_OK(home_->open());
  std::atomic<bool> go = false;
  std::vector<std::optional<Status>> results(12);
  for (std::size_t i = 0; i < results.size(); ++i) {
    auto step = [&go](Tx&) -> Status {
      go.wait(false);
      return {};
    };
    auto keep = [&results, i](const std::exception_ptr&, Status status) { results[i] = std::move(status); };
    asio::co_spawn(home_->loop(), home_->store().commit(Durability::crash, step), keep);
  }
  home_->loop().restart();
  home_->loop().poll();  // all are submitted; the writer is held inside the first
  go = true;
  go.notify_all();
  home_->loop().restart();
  home_->loop().run();
  std::size_t refused = 0;
  for (const std::optional<Status>& result : results) {
    ASSERT_TRUE(result.has_value());
    if (*result) continue;
    EXPECT_EQ(result->error().code, ErrorCode::limit);
    ++refused;
  }
  EXPECT_GE(refused, 4U);  // at most 4 wait, and at most 4 run
  EXPECT_LT(refused, results.size());
  ASSERT_OK(write([](Tx& tx) { return tx.put_setting("after", "1"); }));
  EXPECT_TRUE(home_->store().healthy());
}

INSTANTIATE_TEST_SUITE_P(Sqlite, StoreContract, ::testing::Values(+[] { return std::make_unique<StoreHome>(); }));

}  // namespace
}  // namespace sallyport::test
