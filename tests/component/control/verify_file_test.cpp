#include "gateway/cli/verify_file.hpp"

#include <fmt/format.h>

#include <fstream>

#include "tests/component/control/fixture.hpp"
#include "trust/receipts/envelope.hpp"

namespace sallyport::gateway::testing {
namespace {

trust::SigningKey key_of(std::uint8_t byte) {
  trust::Seed seed{};
  seed.fill(byte);
  return trust::SigningKey::from_seed(seed).value();
}

class VerifyFile : public ::testing::Test {
 protected:
  VerifyFile() : key(key_of(7)), checkpoint_key(key_of(9)), chain(trust::Chain::first(key.public_key())) {
    write("key.pub", key.public_key().pem());
    write("checkpoint.pub", checkpoint_key.public_key().pem());
  }
  void grow(int entries) {
    for (int i = 0; i < entries; ++i) {
      trust::ReceiptBody body;
      body.kind = trust::ReceiptKind::call;
      body.id = fmt::format("rc_{:026}", lines.size());
      body.operation = fmt::format("op_{:026}", lines.size());
      body.principal = "agent:ci";
      body.server_id = "s";
      body.tool = "t";
      body.outcome = trust::OutcomeRecord{Outcome::none, "answered"};
      body.times.received = 1'796'030'042'118;
      const trust::SignedReceipt made = chain.append(body, key);
      tree.append_payload(made.payload);
      lines.push_back(made.line);
    }
  }
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(dir.file(name), std::ios::binary) << text;
    return dir.file(name);
  }
  std::string log_text() const {
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    return text;
  }
  std::string note() {
    return trust::sign_checkpoint({trust::checkpoint_origin(trust::log_id(key.public_key())), tree.size(), tree.root()},
                                  checkpoint_key);
  }
  int verify(std::vector<std::string> words) {
    terminal.printed.clear();
    terminal.said.clear();
    words.insert(words.begin(), {"receipts", "verify"});
    const cli::Parsed parsed = cli::parse_command_line(std::move(words));
    EXPECT_TRUE(parsed.invocation) << parsed.err;
    return cli::verify_file(*parsed.invocation, terminal);
  }

  test::TempDir dir;
  FakeTerminal terminal;
  trust::SigningKey key, checkpoint_key;
  trust::Chain chain;
  trust::MerkleTree tree;
  std::vector<std::string> lines;
};

TEST_F(VerifyFile, AGoodLogIsYes) {
  grow(300);
  const std::string log = write("log.jsonl", log_text());
  const std::string anchor = write("anchor", note());
  EXPECT_EQ(verify({log, "--key", dir.file("key.pub"), "--checkpoint", anchor, "--checkpoint-key",
                    dir.file("checkpoint.pub")}),
            0)
      << terminal.printed;
  EXPECT_FALSE(terminal.printed.contains("not anchored")) << terminal.printed;
  EXPECT_EQ(verify({log, "--key", dir.file("key.pub"), "--json"}), 0);
  EXPECT_TRUE(terminal.printed.contains("\"entries\":300")) << terminal.printed;
  EXPECT_TRUE(terminal.printed.contains("tail-not-anchored")) << terminal.printed;
}

TEST_F(VerifyFile, SeveralKeysAndCheckpointsMayShareAFile) {
  grow(10);
  std::string notes = note();
  grow(10);
  notes += "\n" + note();
  const std::string keys = write("keys", key_of(1).public_key().pem() + key.public_key().pem());
  EXPECT_EQ(verify({write("log", log_text()), "--key", keys, "--checkpoint", write("anchor", notes), "--checkpoint-key",
                    dir.file("checkpoint.pub")}),
            0)
      << terminal.said << terminal.printed;
  EXPECT_FALSE(terminal.printed.contains("not anchored")) << terminal.printed;
}

TEST_F(VerifyFile, EveryHarmIsNo) {
  grow(200);
  const std::vector<std::string> good = lines;
  const auto judged = [&](const char* what) {
    EXPECT_EQ(verify({write("log", log_text()), "--key", dir.file("key.pub")}), 1) << what << terminal.printed;
    lines = good;
  };
  lines.erase(lines.begin() + 50);
  judged("a gap");
  std::swap(lines[10], lines[11]);
  judged("another order");
  lines[20][60] = lines[20][60] == 'A' ? 'B' : 'A';
  judged("a changed byte");
  lines.insert(lines.begin() + 30, lines[30]);
  judged("a duplicate");
  lines[40] = "x";
  judged("noise");
  lines[40] = std::string(20U << 20, '[');
  judged("an endless line");
  EXPECT_EQ(verify({write("log", log_text()), "--key", write("other", key_of(3).public_key().pem())}), 1)
      << "another key";
}

TEST_F(VerifyFile, WhatCannotBeJudgedIsCouldNot) {
  grow(3);
  const std::string log = write("log", log_text());
  EXPECT_EQ(verify({log}), 2);
  EXPECT_TRUE(terminal.said.contains("--key")) << terminal.said;
  EXPECT_EQ(verify({dir.file("none"), "--key", dir.file("key.pub")}), 2);
  EXPECT_EQ(verify({log, "--key", dir.file("none")}), 2);
  EXPECT_EQ(verify({log, "--key", log}), 2);
  EXPECT_EQ(verify({log, "--key", write("cut", key.public_key().pem().substr(0, 60))}), 2);
  EXPECT_EQ(verify({log, "--key", dir.file("key.pub"), "--checkpoint", log}), 2);
  EXPECT_EQ(verify({dir.path(), "--key", dir.file("key.pub")}), 2) << "a folder";
  EXPECT_EQ(verify({log, "--no-signatures"}), 0);
  EXPECT_TRUE(terminal.said.contains("signatures were not checked"));
}

TEST_F(VerifyFile, ManyThreadsSayWhatOneSays) {
  grow(500);
  std::swap(lines[100], lines[400]);
  lines.erase(lines.begin() + 250);
  trust::VerifyOptions options;
  options.keys = {key.public_key()};
  cli::VerifyRun one(options, 1), many(options, 8);
  for (const std::string& line : lines) {
    one.line(line);
    many.line(line);
  }
  EXPECT_EQ(trust::to_json(one.finish()), trust::to_json(many.finish()));
}

TEST_F(VerifyFile, AnEmptyLogIsAsEmptyAsItIs) {
  cli::VerifyRun run({.keys = {key.public_key()}});
  EXPECT_EQ(run.finish().entries, 0U);
}

}  // namespace
}  // namespace sallyport::gateway::testing
