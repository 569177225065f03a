#include "gateway/config/variables.hpp"

#include <gtest/gtest.h>

#include "gateway/config/load.hpp"
#include "gateway/config/wrap.hpp"
#include "tests/unit/gateway/config/fake_files.hpp"

namespace sallyport::gateway {
namespace {

Expanded expand(std::string_view text) {
  const std::map<std::string, std::string> vars{{"A", "va"}, {"REF", "${B}"}, {"EMPTY", ""}};
  return expand_variables(text, &vars, environment_of({{"A", "ea"}, {"B", "eb\"\n"}}));
}

TEST(ExpandVariables, C130_ReplacesEachFormOnce) {
  EXPECT_EQ(expand("${A} ${env:A} ${B}").text, "va ea eb\"\n");
  EXPECT_EQ(expand("${REF}").text, "${B}");
  EXPECT_EQ(expand("${X:-}${X:-d:-e}${EMPTY:-f}${env:X:-g}").text, "d:-efg");
  EXPECT_EQ(expand("").text, "");
}

TEST(ExpandVariables, LeavesOtherDollarsAlone) {
  EXPECT_EQ(expand("$A $$ $$A 5$ $").text, "$A $$ $$A 5$ $");
  EXPECT_EQ(expand("$${A}").text, "${A}");
  EXPECT_EQ(expand("$$${A}").text, "$${A}");
}

TEST(ExpandVariables, C130_NamesWhatIsWrongAndNeverAValue) {
  for (const std::string_view text : {"${X}", "${A", "${}", "${A b}", "${env:X}", "${input:k}", "${config:x}",
                                      "${A:-${B}}", "${workspaceFolder}", "a${1}"}) {
    const Expanded expanded = expand(text);
    EXPECT_FALSE(expanded.problem.empty()) << text;
    EXPECT_EQ(expanded.problem.find("eb\""), std::string::npos) << expanded.problem;
  }
  EXPECT_NE(expand("${X}").problem.find("`X` is not set"), std::string::npos);
  EXPECT_NE(expand("${input:k}").problem.find("`input:k`"), std::string::npos);
}

TEST(ExpandVariables, GivesBackWhatWasMadeLiteral) {
  for (const std::string_view text : {"${A}", "$${A}", "${${A}", "plain", "$"}) {
    const Expanded expanded = expand(literal_text(std::string(text)));
    EXPECT_TRUE(expanded.problem.empty());
    EXPECT_EQ(expanded.text, text);
  }
}

TEST(Wrap, MakesAConfigInWhichNothingIsReplaced) {
  const std::vector<std::string> command{"./my server.py", "${HOME}", "\"q\"", "$x"};
  SettingsRequest request;
  request.text = wrap_config(command, "/work/${d}");
  request.base = "/work/${d}";
  request.default_state = wrap_state_dir("/state", command, "/work");
  const LoadedSettings loaded = load_settings(request, environment_of({}), FakeFiles());
  ASSERT_TRUE(loaded.settings) << (loaded.faults.empty() ? "" : to_text(loaded.faults[0]));
  const ServerSettings& server = loaded.settings->servers.at("my-server");
  EXPECT_TRUE(server.problem.empty()) << server.problem;
  EXPECT_EQ(server.command, "/work/${d}/my server.py");
  EXPECT_EQ(server.args, (std::vector<std::string>{"${HOME}", "\"q\"", "$x"}));
  EXPECT_EQ(server.cwd, "/work/${d}");
  EXPECT_TRUE(loaded.settings->state_dir.starts_with("/state/wrap/my-server-"));
}

TEST(Wrap, KeepsCommandsApart) {
  EXPECT_NE(wrap_state_dir("/s", {"a", "b"}, "/w"), wrap_state_dir("/s", {"a", "c"}, "/w"));
  EXPECT_NE(wrap_state_dir("/s", {"a", "b"}, "/w"), wrap_state_dir("/s", {"a", "b"}, "/v"));
  EXPECT_NE(wrap_state_dir("/s", {"a", "b c"}, "/w"), wrap_state_dir("/s", {"a", "b", "c"}, "/w"));
  EXPECT_EQ(wrap_state_dir("/s", {"a"}, "/w"), wrap_state_dir("/s", {"a"}, "/w"));
  EXPECT_EQ(wrap_server_id({"/usr/bin/.hidden"}), "-hidden");
  EXPECT_EQ(wrap_server_id({"/"}), "server");
}

}  // namespace
}  // namespace sallyport::gateway
