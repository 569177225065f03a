#include "trust/receipts/verify.hpp"

#include <algorithm>
#include <random>

#include "tests/unit/trust/receipts/example.hpp"

namespace sallyport::trust {
namespace {

using test::Log;
using test::make_log;
using test::small_receipt;
using test::test_key;
using Kind = FindingKind;

class Verification : public ::testing::Test {
 protected:
  SigningKey key_ = test_key(1);
  SigningKey checkpoint_key_ = test_key(9);
  Log log_ = make_log({small_receipt(ReceiptKind::start, 1), small_receipt(ReceiptKind::intent, 2, 1),
                       small_receipt(ReceiptKind::outcome, 3, 1), test::full_receipt(),
                       small_receipt(ReceiptKind::outcome, 5, 1), small_receipt(ReceiptKind::refusal, 6)},
                      key_);

  SignedCheckpoint checkpoint(const Log& log, std::optional<std::uint64_t> size = {}) {
    MerkleTree tree;
    for (std::uint64_t i = 0; i < size.value_or(log.payloads.size()); ++i) tree.append_payload(log.payloads[i]);
    return parse_checkpoint(sign_checkpoint({checkpoint_origin(log.id), tree.size(), tree.root()}, checkpoint_key_))
        .value();
  }

  VerifyOptions options() {
    VerifyOptions out;
    out.keys = {key_.public_key()};
    out.checkpoints = {checkpoint(log_)};
    out.checkpoint_keys = {checkpoint_key_.public_key()};
    return out;
  }

  static VerifyReport verify(const std::vector<std::string>& lines, VerifyOptions options) {
    Verifier verifier(std::move(options));
    for (const auto& line : lines) verifier.line(line);
    return verifier.finish();
  }

  static std::vector<Kind> kinds(const VerifyReport& report) {
    std::vector<Kind> out;
    for (const auto& finding : report.findings) out.push_back(finding.kind);
    return out;
  }
  std::vector<Kind> kinds(const std::vector<std::string>& lines) { return kinds(verify(lines, options())); }
  static bool holds(const std::vector<Kind>& list, Kind kind) { return std::ranges::find(list, kind) != list.end(); }
};

TEST_F(Verification, FindsNothingInAWholeAnchoredLog) {
  const auto report = verify(log_.lines, options());
  EXPECT_TRUE(report.findings.empty()) << to_text(report);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.entries, 6U);
  EXPECT_EQ(report.anchored, 6U);
  EXPECT_EQ(report.head, digest_text(log_.payloads.back()));
  EXPECT_EQ(report.root, to_base64(bytes_of(log_.tree.root())));
}

TEST_F(Verification, NamesBadForm) {
  auto lines = log_.lines;
  lines[2] = "{\"payload\":";
  const auto found = kinds(lines);
  EXPECT_TRUE(holds(found, Kind::bad_form));
  EXPECT_TRUE(holds(found, Kind::gap));
  EXPECT_TRUE(holds(kinds({""}), Kind::bad_form));
}

TEST_F(Verification, NamesAStatementThatIsNotOurs) {
  const std::string payload = log_.payloads[0];
  const auto sign = [&](const std::string& text) { return envelope_line(text, key_.keyid(), key_.sign(pae(text))); };
  const auto with = [&](std::string_view what, std::string_view by) {
    auto text = payload;
    text.replace(text.find(what), what.size(), by);
    return text;
  };
  for (const auto& text : {
           std::string("{}"),
           std::string("[]"),
           std::string("null"),
           std::string("1"),
           std::string("{"),
           payload + " ",
           with("\"seq\":0", "\"seq\":0.0"),
           with("\"seq\":0", "\"seq\":-1"),
           with("\"seq\":0", "\"seq\":9007199254740993"),
           with("\"seq\":0", "\"seq\":null"),
           with("\"kind\":\"start\"", "\"kind\":\"begin\""),
           with("agent:ci", "agent:cj"),  // the subject no longer fits
           with("\"log\":\"", "\"log\":\"0"),
           with("receipt/v1", "receipt/v2"),
           with("\"id\":\"rc_", "\"id\":\"rc-"),
       }) {
    const auto report = verify({sign(text)}, options());
    ASSERT_FALSE(report.findings.empty()) << text;
    EXPECT_EQ(report.findings[0].kind, Kind::bad_form) << text;
  }
}

TEST_F(Verification, NamesBadSignaturesAndUnknownKeys) {
  auto lines = log_.lines;
  const auto signature = key_.sign("something else");
  lines[3] = envelope_line(log_.payloads[3], key_.keyid(), signature);
  EXPECT_EQ(kinds(lines), std::vector{Kind::bad_signature});
  auto other = test_key(2);
  lines[3] = envelope_line(log_.payloads[3], other.keyid(), other.sign(pae(log_.payloads[3])));
  EXPECT_EQ(kinds(lines), std::vector{Kind::unknown_key});
  auto without = options();
  without.signatures = false;
  EXPECT_TRUE(verify(lines, without).ok());
}

TEST_F(Verification, NamesGapsDuplicatesAndForks) {
  auto lines = log_.lines;
  lines.erase(lines.begin() + 2);
  auto found = kinds(lines);
  EXPECT_TRUE(holds(found, Kind::gap));
  EXPECT_FALSE(holds(found, Kind::wrong_prev));
  EXPECT_TRUE(holds(found, Kind::checkpoint_mismatch));

  lines = log_.lines;
  lines.insert(lines.begin() + 3, lines[2]);
  EXPECT_EQ(kinds(lines), std::vector{Kind::duplicate});

  auto chain = Chain(log_.id, 2, digest_text(log_.payloads[1]));
  lines = log_.lines;
  lines.insert(lines.begin() + 3, chain.append(small_receipt(ReceiptKind::refusal, 20), key_).line);
  EXPECT_EQ(kinds(lines), std::vector{Kind::fork});

  lines = log_.lines;
  lines.erase(lines.begin());
  const auto report = verify(lines, options());
  EXPECT_EQ(report.findings.at(0).kind, Kind::gap);
  EXPECT_EQ(report.findings.at(0).message, "the entry with seq 0 is missing");
}

TEST_F(Verification, NamesAChangedOrder) {
  auto lines = log_.lines;
  std::swap(lines[2], lines[3]);
  const auto found = kinds(lines);
  EXPECT_EQ(found, (std::vector{Kind::gap, Kind::wrong_prev, Kind::checkpoint_mismatch, Kind::tail_not_anchored}));

  // However far a line was moved, the gateway is not said to have signed two entries in one place.
  lines = log_.lines;
  std::rotate(lines.begin() + 1, lines.end() - 1, lines.end());
  const auto moved = kinds(lines);
  EXPECT_TRUE(holds(moved, Kind::gap));
  EXPECT_FALSE(holds(moved, Kind::fork));
  EXPECT_FALSE(holds(moved, Kind::intent_without_outcome));
  EXPECT_EQ(std::ranges::count(moved, Kind::wrong_prev), 4);
  // A log that begins further on, with its beginning behind it.
  std::rotate(lines.begin(), lines.begin() + 3, lines.end());
  EXPECT_FALSE(holds(kinds(lines), Kind::fork));
}

TEST_F(Verification, IsNotLedAstrayByLinesThatNobodyOfOursSigned) {
  auto foreign = test_key(3);
  auto chain = Chain(log_.id, 1000, digest_text("elsewhere"));
  const auto junk = chain.append(small_receipt(ReceiptKind::refusal, 20), foreign).line;
  auto elsewhere = Chain::first(foreign.public_key());
  static_cast<void>(elsewhere.append(small_receipt(ReceiptKind::start, 1), foreign));
  elsewhere = Chain(elsewhere.next().log, 500, elsewhere.next().prev);
  const auto other_log = elsewhere.append(small_receipt(ReceiptKind::refusal, 21), foreign).line;
  auto both = options();
  both.keys.push_back(foreign.public_key());
  for (std::size_t at = 0; at <= log_.lines.size(); ++at) {
    auto lines = log_.lines;
    lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(at), junk);
    EXPECT_EQ(kinds(lines), std::vector{Kind::unknown_key}) << at;
    if (at == 0) continue;  // which log it is is said by the first line
    lines[at] = other_log;
    EXPECT_EQ(kinds(lines), (std::vector{Kind::unknown_key, Kind::wrong_log})) << at;
    EXPECT_TRUE(holds(kinds(verify(lines, both)), Kind::wrong_log)) << at;
    EXPECT_FALSE(holds(kinds(verify(lines, both)), Kind::fork)) << at;
  }
}

// A gap is named also where the key at hand is the wrong one.
TEST_F(Verification, NamesGapsAmongLinesItCannotJudge) {
  auto wrong = options();
  wrong.keys = {test_key(5).public_key()};
  auto lines = log_.lines;
  lines.erase(lines.begin() + 2, lines.begin() + 4);
  const auto report = verify(lines, wrong);
  const auto gap = std::ranges::find(report.findings, Kind::gap, &Finding::kind);
  ASSERT_NE(gap, report.findings.end());
  EXPECT_EQ(gap->message, "entries with seq 2 to 3 are missing");
}

// An auditor of several gateways has several keys: none of them signs in the log of another.
TEST_F(Verification, TakesOnlyTheKeyInForceAtEachPlace) {
  auto other = test_key(2);
  auto both = options();
  both.keys.push_back(other.public_key());
  auto lines = log_.lines;
  auto chain = Chain(log_.id, 3, digest_text(log_.payloads[2]));
  for (std::size_t at = 3; at < lines.size(); ++at)
    lines[at] = chain.append(small_receipt(ReceiptKind::refusal, static_cast<unsigned>(20 + at)), other).line;
  both.checkpoints.clear();
  EXPECT_EQ(kinds(verify(lines, both)),
            (std::vector{Kind::unknown_key, Kind::unknown_key, Kind::unknown_key, Kind::tail_not_anchored}));
  // Nor before the receipt that names it.
  auto rotation = small_receipt(ReceiptKind::key, 2);
  rotation.event =
      EventRecord{"rotated", "user:op", "", "", "", "", {{"publicKey", to_base64(other.public_key().der())}}};
  auto early = Chain::first(key_.public_key());
  lines = {early.append(small_receipt(ReceiptKind::start, 1), key_).line,
           early.append(small_receipt(ReceiptKind::refusal, 3), other).line, early.append(rotation, key_).line,
           early.append(small_receipt(ReceiptKind::refusal, 4), other).line};
  EXPECT_EQ(kinds(verify(lines, both)), (std::vector{Kind::unknown_key, Kind::tail_not_anchored}));
}

TEST_F(Verification, NamesAnEmptyLog) {
  auto bare = options();
  bare.checkpoints.clear();
  const auto report = verify({}, bare);
  EXPECT_EQ(kinds(report), std::vector{Kind::gap});
  EXPECT_FALSE(report.ok());
}

TEST_F(Verification, TellsForeignCheckpointsFromAShorterLog) {
  auto larger = make_log(std::vector<ReceiptBody>(20, small_receipt(ReceiptKind::start, 1)), key_);
  auto foreign = test_key(3);
  auto forged = options();
  forged.checkpoints = {
      parse_checkpoint(sign_checkpoint({checkpoint_origin(log_.id), 20, larger.tree.root()}, foreign)).value()};
  EXPECT_EQ(kinds(verify(log_.lines, forged)), (std::vector{Kind::checkpoint_mismatch, Kind::tail_not_anchored}));
  forged.checkpoints = {
      parse_checkpoint(
          sign_checkpoint({checkpoint_origin("0123456789abcdef"), 20, larger.tree.root()}, checkpoint_key_))
          .value()};
  EXPECT_EQ(kinds(verify(log_.lines, forged)), (std::vector{Kind::checkpoint_mismatch, Kind::tail_not_anchored}));
}

TEST_F(Verification, NamesWrongLinksAndLogs) {
  auto chain = Chain(log_.id, 6, digest_text("elsewhere"));
  auto lines = log_.lines;
  lines.push_back(chain.append(small_receipt(ReceiptKind::refusal, 20), key_).line);
  EXPECT_TRUE(holds(kinds(lines), Kind::wrong_prev));

  auto other = Chain("0123456789abcdef", 6, digest_text(log_.payloads[5]));
  lines = log_.lines;
  lines.push_back(other.append(small_receipt(ReceiptKind::refusal, 20), key_).line);
  EXPECT_TRUE(holds(kinds(lines), Kind::wrong_log));

  auto named = Chain("0123456789abcdef", 0, "");
  EXPECT_TRUE(holds(kinds({named.append(small_receipt(ReceiptKind::start, 1), key_).line}), Kind::wrong_log));
  auto wanted = options();
  wanted.log = "0123456789abcdef";
  EXPECT_TRUE(holds(kinds(verify(log_.lines, wanted)), Kind::wrong_log));
}

TEST_F(Verification, ComparesCheckpoints) {
  auto lines = log_.lines;
  lines.pop_back();
  EXPECT_EQ(kinds(lines), (std::vector{Kind::shorter_than_checkpoint, Kind::tail_not_anchored}));

  auto early = options();
  early.checkpoints = {checkpoint(log_, 3)};
  auto report = verify(log_.lines, early);
  EXPECT_EQ(kinds(report), std::vector{Kind::tail_not_anchored});
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.anchored, 3U);

  auto wrong_key = options();
  wrong_key.checkpoint_keys = {key_.public_key()};
  EXPECT_TRUE(holds(kinds(verify(log_.lines, wrong_key)), Kind::checkpoint_mismatch));
  auto no_key = options();
  no_key.checkpoint_keys.clear();
  report = verify(log_.lines, no_key);
  EXPECT_EQ(kinds(report), std::vector{Kind::tail_not_anchored});
  EXPECT_FALSE(report.anchored);

  // Rewritten by whoever has the receipt key: only the checkpoint tells.
  const auto rewritten = make_log({small_receipt(ReceiptKind::start, 1), small_receipt(ReceiptKind::refusal, 2)}, key_);
  auto anchored = options();
  anchored.checkpoints = {checkpoint(log_, 2)};
  EXPECT_EQ(kinds(verify(rewritten.lines, anchored)),
            (std::vector{Kind::checkpoint_mismatch, Kind::tail_not_anchored}));
}

TEST_F(Verification, SaysThatATailIsNotAnchored) {
  auto bare = options();
  bare.checkpoints.clear();
  const auto report = verify(log_.lines, bare);
  EXPECT_EQ(kinds(report), std::vector{Kind::tail_not_anchored});
  EXPECT_TRUE(report.ok());
}

TEST_F(Verification, NamesIntentsWithoutOutcomeAndApprovalsSpentTwice) {
  auto spends = small_receipt(ReceiptKind::intent, 2, 1);
  spends.approval = ApprovalRecord{test::id("ap", 7), "", "", "", {}, 0};
  auto again = small_receipt(ReceiptKind::intent, 3, 2);
  again.approval = spends.approval;
  auto same_operation = small_receipt(ReceiptKind::intent, 4, 1);
  same_operation.approval = spends.approval;
  const auto log = make_log(
      {small_receipt(ReceiptKind::start, 1), spends, same_operation, again, small_receipt(ReceiptKind::outcome, 5, 2)},
      key_);
  auto bare = options();
  bare.checkpoints = {checkpoint(log)};
  const auto report = verify(log.lines, bare);
  EXPECT_EQ(kinds(report), (std::vector{Kind::approval_spent_twice, Kind::intent_without_outcome}));
  EXPECT_EQ(report.findings[0].subject, test::id("ap", 7));
  EXPECT_EQ(report.findings[1].subject, test::id("op", 1));
  EXPECT_EQ(report.findings[1].line, 2U);
  EXPECT_FALSE(report.ok());
}

TEST_F(Verification, FollowsARotationOfKeysAndRetiresTheOldOne) {
  auto next = test_key(2);
  auto rotation = small_receipt(ReceiptKind::key, 2);
  rotation.event =
      EventRecord{"rotated", "user:op", "", "", "", "", {{"publicKey", to_base64(next.public_key().der())}}};
  auto chain = Chain::first(key_.public_key());
  std::vector<std::string> lines{chain.append(small_receipt(ReceiptKind::start, 1), key_).line,
                                 chain.append(rotation, key_).line,
                                 chain.append(small_receipt(ReceiptKind::refusal, 3), next).line};
  auto bare = options();
  bare.checkpoints.clear();
  EXPECT_EQ(kinds(verify(lines, bare)), std::vector{Kind::tail_not_anchored});
  lines.push_back(chain.append(small_receipt(ReceiptKind::refusal, 4), key_).line);
  EXPECT_TRUE(holds(kinds(verify(lines, bare)), Kind::unknown_key));
  // A rotation that is not signed by a known key adds none.
  auto foreign = test_key(3);
  auto other = Chain::first(key_.public_key());
  const std::vector<std::string> forged{other.append(small_receipt(ReceiptKind::start, 1), key_).line,
                                        other.append(rotation, foreign).line,
                                        other.append(small_receipt(ReceiptKind::refusal, 3), next).line};
  EXPECT_EQ(std::ranges::count(kinds(verify(forged, bare)), Kind::unknown_key), 2);
}

TEST_F(Verification, FollowsARotationOfCheckpointKeysThatTheOldOneEndorsed) {
  auto next = test_key(4);
  const auto der = to_base64(next.public_key().der());
  const auto log_with = [&](SigningKey& endorser) {
    auto rotation = small_receipt(ReceiptKind::key, 3);
    const auto statement = checkpoint_key_statement(log_.id, der);
    rotation.event =
        EventRecord{std::string(kCheckpointRotated),
                    "user:op",
                    "",
                    "",
                    "",
                    "",
                    {{"checkpointKey", der}, {"endorsement", to_base64(bytes_of(endorser.sign(statement)))}}};
    return make_log({small_receipt(ReceiptKind::start, 1), small_receipt(ReceiptKind::refusal, 2), rotation,
                     small_receipt(ReceiptKind::refusal, 4)},
                    key_);
  };
  const auto by = [&](const Log& log, std::size_t size, SigningKey& signer) {
    MerkleTree tree;
    for (std::size_t i = 0; i < size; ++i) tree.append_payload(log.payloads[i]);
    return parse_checkpoint(sign_checkpoint({checkpoint_origin(log.id), size, tree.root()}, signer)).value();
  };
  auto log = log_with(checkpoint_key_);
  auto followed = options();
  followed.checkpoints = {by(log, 2, checkpoint_key_), by(log, 3, next), by(log, 4, next)};
  EXPECT_TRUE(verify(log.lines, followed).findings.empty()) << to_text(verify(log.lines, followed));
  // The old one signs nothing behind it, the new one nothing before.
  followed.checkpoints = {by(log, 2, next), by(log, 4, checkpoint_key_)};
  EXPECT_EQ(kinds(verify(log.lines, followed)),
            (std::vector{Kind::checkpoint_mismatch, Kind::checkpoint_mismatch, Kind::tail_not_anchored}));
  // The key of receipts alone cannot put another in its place.
  log = log_with(key_);
  followed.checkpoints = {by(log, 4, next)};
  EXPECT_EQ(kinds(verify(log.lines, followed)), (std::vector{Kind::checkpoint_mismatch, Kind::tail_not_anchored}));
}

TEST_F(Verification, GoesOnBehindWhatWasPruned) {
  auto pruned = options();
  MerkleTree tree;
  for (int i = 0; i < 3; ++i) tree.append_payload(log_.payloads[static_cast<std::size_t>(i)]);
  pruned.pruned = tree;
  pruned.pruned_prev = digest_text(log_.payloads[2]);
  const std::vector<std::string> rest(log_.lines.begin() + 3, log_.lines.end());
  const auto report = verify(rest, pruned);
  EXPECT_EQ(kinds(report), std::vector{Kind::pruned}) << to_text(report);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.anchored, 6U);
  pruned.pruned_prev = digest_text("x");
  EXPECT_TRUE(holds(kinds(verify(rest, pruned)), Kind::wrong_prev));
}

TEST_F(Verification, ACheckpointBesideTheLogMustFitAndAnchorsNothing) {
  auto beside = options();
  beside.anchors_to = 0;
  EXPECT_EQ(kinds(verify(log_.lines, beside)), std::vector{Kind::tail_not_anchored});
  const std::vector<std::string> shorter(log_.lines.begin(), log_.lines.end() - 1);
  EXPECT_TRUE(holds(kinds(verify(shorter, beside)), Kind::shorter_than_checkpoint));
}

TEST_F(Verification, ReadsWhatWasPrunedFromItsReceipt) {
  MerkleTree tree;
  for (int i = 0; i < 3; ++i) tree.append_payload(log_.payloads[static_cast<std::size_t>(i)]);
  auto body = small_receipt(ReceiptKind::log, 7);
  body.event = EventRecord{
      "pruned", "", "age", "", digest_text(log_.payloads[2]), "", {{"edge", to_hex(tree.edge_bytes())}, {"size", "3"}}};
  const ChainPoint place{"7c1e0b9d2a44f310", 6, digest_text("x")};
  const auto base = pruned_by(to_payload(body, place));
  ASSERT_TRUE(base);
  EXPECT_EQ(base->tree.root(), tree.root());
  EXPECT_EQ(base->prev, digest_text(log_.payloads[2]));
  for (const Pairs& details :
       {Pairs{}, Pairs{{"edge", "00"}, {"size", "3"}}, Pairs{{"edge", to_hex(tree.edge_bytes())}, {"size", "4"}},
        Pairs{{"edge", to_hex(tree.edge_bytes())}, {"size", "-3"}}}) {
    body.event->details = details;
    EXPECT_FALSE(pruned_by(to_payload(body, place)));
  }
  EXPECT_FALSE(pruned_by(log_.payloads[1]));
  EXPECT_FALSE(pruned_by(R"({"action":"pruned")"));
}

TEST_F(Verification, BoundsItsFindings) {
  auto few = options();
  few.max_findings = 2;
  const auto report = verify(std::vector<std::string>(10, "x"), few);
  EXPECT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.more_findings, 9U);  // and the checkpoint
  EXPECT_EQ(report.faults, 11U);
  EXPECT_FALSE(report.ok());
}

TEST_F(Verification, BoundsWhatAFindingHolds) {
  auto spends = small_receipt(ReceiptKind::intent, 2, 1);
  spends.approval = ApprovalRecord{std::string(1U << 20U, 'a'), "", "", "", {}, 0};
  auto again = small_receipt(ReceiptKind::intent, 3, 2);
  again.approval = spends.approval;
  const auto log = make_log({small_receipt(ReceiptKind::start, 1), spends, again}, key_);
  auto bare = options();
  bare.checkpoints.clear();
  const auto report = verify(log.lines, bare);
  ASSERT_TRUE(holds(kinds(report), Kind::approval_spent_twice));
  for (const auto& finding : report.findings) EXPECT_LE(finding.subject.size() + finding.message.size(), 2000U);
}

TEST_F(Verification, ReportsForPeopleAndPrograms) {
  auto lines = log_.lines;
  lines[5] = "x";
  const auto report = verify(lines, options());
  const auto text = to_text(report);
  EXPECT_NE(text.find("line 6: error: bad-form: "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("2 faults\n")) << text;
  const auto document = test::doc(to_json(report));
  EXPECT_EQ(document.root().find("findings").size(), report.findings.size());
  EXPECT_FALSE(document.root().find("ok").boolean());
}

// Whatever byte of a log is changed, verification says so.
TEST_F(Verification, NoticesEveryChangedByte) {
  std::vector<CheckedLine> good;
  log_ = make_log({small_receipt(ReceiptKind::start, 1), small_receipt(ReceiptKind::intent, 2, 1), test::full_receipt(),
                   small_receipt(ReceiptKind::outcome, 3, 1)},
                  key_);
  const auto wanted = options();
  for (const auto& line : log_.lines) good.push_back(check_line(line, wanted));
  for (std::size_t at = 0; at < log_.lines.size(); ++at) {
    // Every byte of the short lines; of the long one, which differs only in length, some.
    const std::size_t step = log_.lines[at].size() > 2000 ? 11 : 1;
    for (std::size_t i = 0; i < log_.lines[at].size(); i += step) {
      auto line = log_.lines[at];
      line[i] = static_cast<char>(line[i] ^ (i % 3 == 0 ? 0x20 : 0x01));
      Verifier verifier(wanted);
      for (std::size_t other = 0; other < good.size(); ++other) {
        verifier.accept(other == at ? check_line(line, wanted) : good[other]);
      }
      ASSERT_FALSE(verifier.finish().ok()) << "line " << at << ", byte " << i << ": " << line;
    }
  }
}

TEST_F(Verification, SurvivesNoise) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    auto lines = log_.lines;
    for (int change = 0; change < 3; ++change) {
      auto& line = lines[random() % lines.size()];
      const auto at = random() % (line.size() + 1);
      if (random() % 2 == 0) {
        line.resize(at);
      } else {
        line.insert(at, 1, static_cast<char>(random()));
      }
    }
    const auto report = verify(lines, options());
    EXPECT_FALSE(report.ok());
    static_cast<void>(to_text(report));
    EXPECT_TRUE(json::Document::parse(to_json(report)));
  }
}

}  // namespace
}  // namespace sallyport::trust
