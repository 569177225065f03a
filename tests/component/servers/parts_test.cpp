// The pure parts of gateway/servers.
#include <filesystem>
#include <fstream>

#include "gateway/servers/conversation.hpp"
#include "gateway/servers/environment.hpp"
#include "gateway/servers/frames.hpp"
#include "gateway/servers/identify.hpp"
#include "gateway/servers/params.hpp"
#include "tests/component/servers/support.hpp"

namespace sallyport::gateway::servers {
namespace {

TEST(FindId, ReadsTheIdFromTheBeginning) {
  EXPECT_EQ(find_id(R"({"jsonrpc":"2.0","id":17,"result":{"te)", ""), 17);
  EXPECT_EQ(find_id(R"({ "x" : {"id":3, "y":["}"]} , "id" : 18 , "result":{)", ""), 18);
  EXPECT_EQ(find_id(R"({"id":17)", ""), std::nullopt) << "the number may go on";
  EXPECT_EQ(find_id(R"({"id":"17","result":{)", ""), std::nullopt);
  EXPECT_EQ(find_id(R"({"result":{"id":17,"te)", ""), std::nullopt) << "not the outermost object's";
  EXPECT_EQ(find_id(R"([{"id":17},)", ""), std::nullopt);
}

TEST(FindId, ReadsTheIdFromTheEnd) {
  EXPECT_EQ(find_id(R"({"result":{)", R"(xxx"}]},"jsonrpc":"2.0","id":17})"), 17);
  EXPECT_EQ(find_id(R"({"result":{)", "xxx\"}]}, \"id\" : 17 }\r"), 17);
  EXPECT_EQ(find_id(R"({"result":{)", R"(,"x":{"id":17}})"), std::nullopt);
  EXPECT_EQ(find_id(R"({"result":{)", R"(,"nid":17})"), std::nullopt);
  EXPECT_EQ(find_id(R"({"result":{)", R"(,"id":1.7})"), std::nullopt);
  EXPECT_EQ(find_id(R"({"result":{)", R"(\"id":17})"), std::nullopt);
  EXPECT_EQ(find_id("", ""), std::nullopt);
}

TEST(FindAnswers, NamesTheCallsThatATextMeans) {
  using Ids = std::vector<std::int64_t>;
  EXPECT_EQ(find_answers(R"({"jsonrpc":"2.0","result":{"x":NaN},"id":17})"), Ids{17});
  EXPECT_EQ(find_answers(R"({"id":17,"error":{"code":1,"message":"\ud800"}})"), Ids{17});
  EXPECT_EQ(find_answers(R"({"id":17,"result":{}}{"id":18,"result":{}})"), (Ids{17, 18}));
  EXPECT_EQ(find_answers(R"( [{"id":17,"result":NaN},{"id":18,"result":{}} , {"id":19,"result":{"te)"),
            (Ids{17, 18, 19}));
  EXPECT_EQ(find_answers(R"({"id":17,"result":{},"id":18})"), Ids{}) << "two";
  EXPECT_EQ(find_answers(R"({"id":17,"method":"x","result":NaN})"), Ids{}) << "a request";
  EXPECT_EQ(find_answers(R"({"id":17,"params":NaN})"), Ids{}) << "no answer";
  EXPECT_EQ(find_answers(R"({"id":"17","result":NaN})"), Ids{});
  EXPECT_EQ(find_answers(R"({"result":{"id":17,"result":1)"), Ids{}) << "not the outermost object's";
  EXPECT_EQ(find_answers(R"({"x":1]],"id":17,"result":{}})"), Ids{}) << "who knows where it ends";
  EXPECT_EQ(find_answers("no text of ours {\"id\":17,\"result\":1}"), Ids{});
}

std::vector<FrameReader::Frame> frames(const std::string& bytes, std::size_t step, std::size_t limit) {
  FrameReader reader(limit);
  std::vector<FrameReader::Frame> out;
  for (std::size_t i = 0; i < bytes.size(); i += step) {
    reader.feed(std::string_view(bytes).substr(i, step),
                [&](FrameReader::Frame frame) { out.push_back(std::move(frame)); });
  }
  return out;
}

TEST(FrameReader, CutAnywhereGivesTheSameLines) {
  const std::string bytes = "one\r\n\ntwo grüße\n" + std::string(50, 'x') + ",\"id\":7}\nthree\nrest";
  for (std::size_t step = 1; step <= bytes.size(); ++step) {
    const auto got = frames(bytes, step, 20);
    ASSERT_EQ(got.size(), 5U) << step;
    EXPECT_EQ(got[0].text, "one");
    EXPECT_EQ(got[1].text, "");
    EXPECT_EQ(got[2].text, "two grüße");
    EXPECT_TRUE(got[3].overlong);
    EXPECT_EQ(got[3].text, std::string(20, 'x'));
    EXPECT_TRUE(got[3].tail.ends_with(",\"id\":7}\n")) << got[3].tail;
    EXPECT_FALSE(got[4].overlong);
    EXPECT_EQ(got[4].text, "three");
  }
}

TEST(RelayParams, ATokenOfTheClientNeverPasses) {
  EXPECT_EQ(relay_params("", "7", false).value(), "");
  EXPECT_EQ(relay_params("", "7", true).value(), R"({"_meta":{"progressToken":7}})");
  EXPECT_EQ(relay_params(R"({"a": 1.0})", "7", false).value(), R"({"a": 1.0})");
  EXPECT_EQ(relay_params(R"({"a": 1.0})", "7", true).value(), R"({"_meta":{"progressToken":7},"a": 1.0})");
  EXPECT_EQ(relay_params(R"({"_meta":{"k":1}})", "7", false).value(), R"({"_meta":{"k":1}})");
  EXPECT_EQ(relay_params(R"({"_meta":{"progressToken":"x","k":1}})", "7", false).value(),
            R"({"_meta":{"progressToken":7,"k":1}})");
  EXPECT_FALSE(relay_params("[1]", "7", false).has_value());
  EXPECT_FALSE(relay_params("{", "7", false).has_value());
  EXPECT_FALSE(relay_params(R"({"_meta":1})", "7", true).has_value());
}

TEST(CallParams, MetaHoldsWhatIsForwardedAndOurToken) {
  Permit permit;
  permit.tool = "t";
  EXPECT_EQ(call_params(permit.make(), "7"), R"({"name":"t","arguments":{}})");
  permit.progress = true;
  EXPECT_EQ(call_params(permit.make(), "7"), R"({"name":"t","arguments":{},"_meta":{"progressToken":7}})");
  permit.meta = R"("k":1)";
  EXPECT_EQ(call_params(permit.make(), "7"), R"({"name":"t","arguments":{},"_meta":{"k":1,"progressToken":7}})");
  permit.progress = false;
  EXPECT_EQ(call_params(permit.make(), "7"), R"({"name":"t","arguments":{},"_meta":{"k":1}})");
}

TEST(ChildEnvironment, ConfiguredValuesWin) {
  const Environment allowed{{"HOME", "/h"}, {"PATH", "/bin"}};
  const Environment given = child_environment(allowed, {{"HOME", Secret("/x")}, {"KEY", Secret("k")}});
  EXPECT_EQ(given, (Environment{{"HOME", "/x"}, {"KEY", "k"}, {"PATH", "/bin"}}));
  EXPECT_EQ(child_environment({}, {}).at("PATH"), "/usr/local/bin:/usr/bin:/bin");
}

TEST(ResolveCommand, LooksInThePathOfTheChild) {
  const Environment environment{{"PATH", "/nowhere::/bin:/usr/bin"}};
  EXPECT_EQ(resolve_command("sh", environment, "").value(), "/bin/sh");
  EXPECT_EQ(resolve_command("./sh", environment, "/bin").value(), "/bin/./sh");
  EXPECT_EQ(resolve_command("/bin/sh", environment, "/tmp").value(), "/bin/sh");
  for (const std::string command : {"", "no-such-command", "/etc/passwd", "/bin", "./sh"}) {
    const auto found = resolve_command(command, environment, "/etc");
    EXPECT_FALSE(found.has_value()) << command;
  }
  EXPECT_NE(resolve_command("no-such-command", environment, "").error().message.find("/nowhere"), std::string::npos);
}

TEST(PackageOf, NpxArguments) {
  const auto spec = [](std::vector<std::string> args) {
    const auto found = npm_package(args);
    return found ? found->name + " " + found->version : "none";
  };
  EXPECT_EQ(spec({"-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/tmp"}),
            "@modelcontextprotocol/server-filesystem 2026.8.31");
  EXPECT_EQ(spec({"@scope/name"}), "@scope/name ");
  EXPECT_EQ(spec({"name@latest"}), "name latest");
  EXPECT_EQ(spec({"-p", "one@1.0.0", "command"}), "one 1.0.0");
  EXPECT_EQ(spec({"--package=one@1.0.0", "command"}), "one 1.0.0");
  EXPECT_EQ(spec({"-c", "rm -rf x"}), "none");
  EXPECT_EQ(spec({"github:me/thing"}), "none");
  EXPECT_EQ(spec({"./local"}), "none");
  EXPECT_EQ(spec({"-y"}), "none");
}

TEST(PackageOf, UvxArguments) {
  const auto spec = [](std::vector<std::string> args) {
    const auto found = python_package(args);
    return found ? found->name + " " + found->version : "none";
  };
  EXPECT_EQ(spec({"mcp-server-git==2026.1.2"}), "mcp-server-git 2026.1.2");
  EXPECT_EQ(spec({"mcp-server-git@2026.1.2", "--repository", "."}), "mcp-server-git 2026.1.2");
  EXPECT_EQ(spec({"--from", "pkg==1.0", "command"}), "pkg 1.0");
  EXPECT_EQ(spec({"--from", "git+https://x/y", "command"}), "none");
}

class IdentifierTest : public ServersTest {
 protected:
  IdentifierTest() {
    folder_ = std::filesystem::temp_directory_path() / ("sallyport-identify-" + system_entropy().token(9));
    std::filesystem::create_directories(folder_);
  }
  ~IdentifierTest() override { std::filesystem::remove_all(folder_); }
  trust::Identity identify(const std::string& program, std::vector<std::string> args) {
    ServerSettings server;
    server.args = std::move(args);
    server.cwd = folder_.string();
    return run(identifier_.command(workers_, server, program, folder_.string())).identity;
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  std::filesystem::path folder_;
  Identifier identifier_;
};

TEST_F(IdentifierTest, AScriptStandsForItsInterpreter) {
  write("server.js", "one");
  const trust::Identity first = identify("/usr/bin/node", {"--no-warnings", "server.js", "data.json"});
  EXPECT_EQ(first.script, (folder_ / "server.js").string());
  EXPECT_EQ(first.digest, "sha256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed");
  EXPECT_EQ(identify("/usr/bin/node", {"server.js"}), identify("/usr/bin/node", {"server.js"}));
  write("server.js", "other");
  EXPECT_NE(identify("/usr/bin/node", {"server.js"}).digest, first.digest);
}

TEST_F(IdentifierTest, TheScriptIsFoundBehindWrappersAndOptions) {
  write("x.py", "one");
  const std::vector<std::pair<std::string, std::vector<std::string>>> found{
      {"/usr/bin/env", {"python3", "x.py"}},
      {"/usr/bin/env", {"-u", "HOME", "A=1", "python3", "-X", "dev", "x.py", "--flag"}},
      {"/usr/bin/env", {"nohup", "python3", "x.py"}},
      {"/usr/bin/env", {"./x.py"}},
      {"/usr/bin/python3", {"-X", "utf8", "-W", "ignore", "-u", "x.py"}},
      {"/usr/bin/node", {"--no-warnings", "-r", "hook.js", "x.py"}},
      {"/usr/bin/bash", {"-o", "pipefail", "x.py"}},
      {"/usr/bin/deno", {"run", "--allow-read", "x.py"}}};
  for (const auto& [program, args] : found) {
    EXPECT_EQ(identify(program, args).script, (folder_ / "x.py").string()) << program << " " << args[0];
  }
}

TEST_F(IdentifierTest, WhereNoScriptCanBeToldTheServerIsSaidToBeUnpinned) {
  write("x.py", "one");
  write("json.tool", "no script");
  const std::vector<std::pair<std::string, std::vector<std::string>>> untold{
      {"/bin/sh", {"-c", "python3 x.py"}},       {"/bin/sh", {"-ec", "x.py"}},
      {"/usr/bin/python3", {"-m", "json.tool"}}, {"/usr/bin/python3", {"-c", "import x", "x.py"}},
      {"/usr/bin/node", {"-e", "1", "x.py"}},    {"/usr/bin/env", {"-S", "python3 x.py"}},
      {"/usr/bin/env", {"sh", "-c", "x.py"}}};
  for (const auto& [program, args] : untold) {
    const trust::Identity found = identify(program, args);
    EXPECT_EQ(found.script, "") << program << " " << args[0];
    EXPECT_TRUE(trust::unpinned(found)) << program << " " << args[0];
  }
}

TEST_F(IdentifierTest, DataOfAProgramIsNoScript) {
  write("tool", "binary");
  write("data.json", "{}");
  const trust::Identity found = identify((folder_ / "tool").string(), {"data.json"});
  EXPECT_EQ(found.script, "");
  EXPECT_EQ(found.command, (folder_ / "tool").string());
  EXPECT_EQ(found.digest.size(), 71U);
  EXPECT_EQ(identify("/gone", {}).digest, "");
}

TEST_F(IdentifierTest, PackagesTakeTheirIntegrityFromWhatNpxUnpacked) {
  write(".npm/_npx/0123/node_modules/.package-lock.json",
        R"({"packages":{"node_modules/@a/b":{"version":"1.2.3","integrity":"sha512-xyz"}}})");
  write(".npm/_npx/4567/node_modules/.package-lock.json", "{broken");
  const trust::Identity found = identify("/usr/bin/npx", {"-y", "@a/b@1.2.3"});
  EXPECT_EQ(trust::canonical(found),
            R"({"integrity":"sha512-xyz","kind":"package","package":"@a/b","runner":"npx","version":"1.2.3"})");
  EXPECT_EQ(identify("/usr/bin/npx", {"@a/b@1.2.4"}).integrity, "");
}

TEST_F(IdentifierTest, PackagesOfUvxTakeTheirIntegrityFromWhatWasUnpacked) {
  write(".cache/uv/archive-v0/a1/mcp_server_git-2026.1.2.dist-info/RECORD", "git.py,sha256=x,1\n");
  write(".cache/uv/archive-v0/b2/other-1.0.dist-info/RECORD", "other.py,sha256=y,1\n");
  const trust::Identity found = identify("/usr/bin/uvx", {"mcp-server-git==2026.1.2"});
  EXPECT_TRUE(found.integrity.starts_with("record-sha256:")) << found.integrity;
  EXPECT_FALSE(trust::unpinned(found));
  write(".cache/uv/archive-v0/c3/mcp_server_git-2026.1.2.dist-info/RECORD", "git.py,sha256=z,1\n");
  EXPECT_EQ(identify("/usr/bin/uvx", {"mcp-server-git==2026.1.2"}).integrity, "") << "which of two, nobody can tell";
  EXPECT_EQ(identify("/usr/bin/uvx", {"mcp-server-git"}).integrity, "");
}

TEST_F(IdentifierTest, ImagesAreNamedByTheirDigest) {
  const std::string digest = "sha256:" + std::string(64, 'a');
  const trust::Identity found =
      identify("/usr/bin/docker", {"run", "-i", "--rm", "-e", "KEY", "--name=x", "mcp/git@" + digest, "arg"});
  EXPECT_EQ(found.kind, trust::Identity::Kind::image);
  EXPECT_EQ(found.image, "mcp/git");
  EXPECT_EQ(found.digest, digest);
  EXPECT_EQ(identify("/usr/bin/docker", {"run", "mcp/git:latest"}).digest, "");
}

}  // namespace
}  // namespace sallyport::gateway::servers
