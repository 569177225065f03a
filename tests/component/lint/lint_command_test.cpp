// `sallyport lint` as its user sees it: a file, and a server that is started.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "gateway/app/local_commands.hpp"
#include "tests/support/temp_dir.hpp"

namespace sallyport::test {
namespace {

namespace cli = gateway::cli;

class Screen final : public cli::Terminal {
 public:
  void out(std::string_view text) override { printed += text; }
  void err(std::string_view text) override { told += text; }
  [[nodiscard]] bool interactive() const override { return false; }
  std::optional<std::string> read_line(bool) override { return std::nullopt; }
  std::optional<char> read_key(Millis) override { return std::nullopt; }
  std::optional<std::string> read_all(std::size_t) override { return input; }
  std::string printed, told, input;
};

constexpr const char* kGood =
    R"({"name":"look","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"annotations":{"readOnlyHint":true}})";
constexpr const char* kWrite =
    R"({"name":"put","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":false,"destructiveHint":false}})";

class LintCommand : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.file(name)) << text;
    return folder_.file(name);
  }
  std::string read(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // The command line, as typed.
  int run(std::vector<std::string> words) {
    screen_ = Screen{};
    screen_.input = input_;
    const auto parsed = cli::parse_command_line(std::move(words));
    if (!parsed.invocation) {
      screen_.told = parsed.err;
      return parsed.exit_code;
    }
    return gateway::lint_command(*parsed.invocation, screen_);
  }
  int lint_server(const std::string& script, std::vector<std::string> options = {}, bool by_process = false) {
    script_ = write("script.json", script);
    std::vector<std::string> words{"lint"};
    words.insert(words.end(), options.begin(), options.end());
    words.insert(words.end(),
                 {"--", "python3", SALLYPORT_SOURCE_DIR "/tests/fixtures/servers/listing_server.py", script_});
    if (by_process) words.push_back(folder_.file("counter"));
    return run(std::move(words));
  }

  TempDir folder_;
  Screen screen_;
  std::string input_, script_;
};

TEST_F(LintCommand, AGoodFileIsAYes) {
  for (const std::string& text :
       {std::string("{\"tools\":[") + kGood + "]}", std::string("[") + kGood + "]", std::string(kGood),
        std::string("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[") + kGood + "]}}"}) {
    EXPECT_EQ(run({"lint", write("tools.json", text)}), 0) << screen_.told;
    EXPECT_EQ(screen_.printed, "1 tools: 0 errors, 0 warnings\n");
  }
  input_ = kGood;
  EXPECT_EQ(run({"lint", "-"}), 0);
}

TEST_F(LintCommand, AFaultIsANoWithItsPlace) {
  const auto file =
      write("tools.json",
            "[{\"name\":\"t\",\n\"inputSchema\":{\"type\":\"objekt\"},\"annotations\":{\"readOnlyHint\":true}}]");
  EXPECT_EQ(run({"lint", file}), 1);
  EXPECT_NE(screen_.printed.find(file + ":2:15: error: t: at /type: `objekt` is no type"), std::string::npos)
      << screen_.printed;
  EXPECT_EQ(run({"lint", "--json", file}), 1);
  const auto found = boost::json::parse(screen_.printed);
  EXPECT_EQ(found.at("errors").as_int64(), 1) << screen_.printed;
  EXPECT_EQ(found.at_pointer("/findings/0/code").as_string(), "input-schema");
  EXPECT_EQ(found.at_pointer("/findings/0/line").as_int64(), 2);
}

TEST_F(LintCommand, WarningsAreANoOnlyWhereAsked) {
  const auto file = write("tools.json", R"([{"name":"t","inputSchema":{"type":"object"}}])");
  EXPECT_EQ(run({"lint", file}), 0);
  EXPECT_NE(screen_.printed.find("warning: t: it has no `readOnlyHint`"), std::string::npos) << screen_.printed;
  EXPECT_EQ(run({"lint", "--strict", file}), 1);
}

TEST_F(LintCommand, WhatCannotBeLookedAtIsNeitherYesNorNo) {
  EXPECT_EQ(run({"lint"}), 2);
  EXPECT_EQ(run({"lint", folder_.file("none.json")}), 2);
  EXPECT_EQ(run({"lint", write("broken.json", "{")}), 2);
  EXPECT_EQ(run({"lint", write("other.json", "{\"a\":1}")}), 2);
  EXPECT_EQ(run({"lint", "--call", write("tools.json", kGood)}), 2);
  EXPECT_EQ(run({"lint", write("tools.json", kGood), "--", "cat"}), 2);
  EXPECT_EQ(run({"lint", "--", "/no/such/program"}), 2);
  EXPECT_NE(screen_.told, "");
  EXPECT_EQ(run({"lint", "http://127.0.0.1:1/mcp"}), 2);
}

TEST_F(LintCommand, AServerThatListsTheSameEachTimeIsAYesAndNothingIsCalled) {
  EXPECT_EQ(lint_server(std::string("{\"lists\":[[") + kGood + "," + kWrite + "]]}"), 0)
      << screen_.printed << screen_.told;
  EXPECT_EQ(screen_.printed, "2 tools: 0 errors, 0 warnings\n");
  EXPECT_FALSE(std::filesystem::exists(script_ + ".called"));
}

TEST_F(LintCommand, AListThatChangesIsFoundWithinAConnectionAndBetweenThem) {
  // The catalogue lists once, then lint twice.
  const std::string lists = std::string("{\"lists\":[[") + kGood + "],[" + kGood + "],[" + kGood + "," + kWrite + "]]}";
  EXPECT_EQ(lint_server(lists), 1) << screen_.told;
  EXPECT_NE(screen_.printed.find("error: put: it is only listed when the list is asked for again"), std::string::npos)
      << screen_.printed;
  const std::string processes = std::string("{\"lists\":[[") + kGood + "],[" + kGood + "," + kWrite + "]]}";
  EXPECT_EQ(lint_server(processes, {}, true), 1) << screen_.told;
  EXPECT_NE(screen_.printed.find("error: put: it is only listed on a second connection"), std::string::npos)
      << screen_.printed;
}

TEST_F(LintCommand, CallJudgesResultsOfReadsAndOfNothingElse) {
  const std::string tools = std::string("{\"lists\":[[") + kGood + "," + kWrite + "]],\"results\":{\"look\":";
  EXPECT_EQ(lint_server(tools + R"({"content":[],"structuredContent":{"n":1}}}})", {"--call"}), 0)
      << screen_.printed << screen_.told;
  EXPECT_EQ(screen_.printed, "2 tools, 1 called: 0 errors, 0 warnings\n");
  EXPECT_EQ(read(script_ + ".called"), "look\n");
  EXPECT_EQ(lint_server(tools + R"({"content":[],"structuredContent":{"n":"1"}}}})", {"--call"}), 1);
  EXPECT_NE(screen_.printed.find("error: look: "), std::string::npos) << screen_.printed;
  EXPECT_NE(screen_.printed.find("(at /n) [result]"), std::string::npos) << screen_.printed;
  EXPECT_EQ(lint_server(tools + R"({"content":[{"type":"text","text":"no disk"}],"isError":true}}})", {"--call"}), 0);
  EXPECT_NE(screen_.printed.find("could not be judged: no disk [call-failed]"), std::string::npos) << screen_.printed;
}

TEST_F(LintCommand, InstructionsAreLookedAtToo) {
  EXPECT_EQ(lint_server(std::string("{\"instructions\":\"be \\u202e good\",\"lists\":[[") + kGood + "]]}"), 1);
  EXPECT_NE(screen_.printed.find("the server's instructions: "), std::string::npos) << screen_.printed;
}

}  // namespace
}  // namespace sallyport::test
