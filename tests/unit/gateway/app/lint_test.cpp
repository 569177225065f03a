// What lint says of tools (docs/schemas.md has the list), and that it says nothing of good ones.
#include "gateway/app/lint.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace sallyport::gateway {
namespace {

constexpr const char* kGood =
    R"({"name":"look","inputSchema":{"type":"object","properties":{"id":{"type":"string"}}},"outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"annotations":{"readOnlyHint":true}})";

class Lint : public ::testing::Test {
 protected:
  json::Value parse(const std::string& text) {
    auto document = json::Document::parse(text);
    if (!document) throw std::runtime_error(document.error().message + ": " + text);
    documents_.push_back(std::make_unique<json::Document>(std::move(*document)));
    return documents_.back()->root();
  }
  std::vector<json::Value> list(const std::string& text) {
    std::vector<json::Value> out;
    for (const json::Value tool : parse(text).elements()) out.push_back(tool);
    return out;
  }
  // `error code tool pointer` of each finding, a line each.
  static std::string lines(const LintFindings& findings) {
    std::string out;
    for (const auto& finding : findings) {
      EXPECT_FALSE(finding.message.empty());
      out += std::string(finding.level == LintFinding::Level::error ? "error " : "warning ") + finding.code + " " +
             finding.tool + " " + finding.pointer + "\n";
    }
    return out;
  }
  std::string lint(const std::string& tools) { return lines(lint_tools(list(tools))); }
  std::string one(const std::string& members) { return lint("[{\"name\":\"t\"," + members + "}]"); }

 private:
  std::vector<std::unique_ptr<json::Document>> documents_;
};

TEST_F(Lint, SaysNothingOfAGoodTool) { EXPECT_EQ(lint(std::string("[") + kGood + "]"), ""); }

TEST_F(Lint, FindsWhatIsWrongWithSchemas) {
  const std::string read = R"("annotations":{"readOnlyHint":true},)";
  EXPECT_EQ(one(read + R"("title":"x")"), "error input-schema t \n");
  EXPECT_EQ(one(read + R"("inputSchema":true)"), "error input-schema t /inputSchema\n");
  EXPECT_EQ(one(read + R"("inputSchema":{})"), "error input-schema t /inputSchema\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":["object"]})"), "error input-schema t /inputSchema/type\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object","properties":{"a":{"type":"str"}}})"),
            "error input-schema t /inputSchema\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object"},"outputSchema":{"$ref":"https://x.example/s"})"),
            "error output-schema t /outputSchema\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object"},"outputSchema":{"type":"array"})"),
            "warning output-schema t /outputSchema/type\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object","properties":{"a/b":{}},"required":["a/b","c"]})"),
            "warning required-undeclared t /inputSchema/required\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object","required":["c"],"additionalProperties":false})"),
            "error required-impossible t /inputSchema/required\n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object"},"inputSchema":{"type":"object"})"), "error ambiguous t \n");
  EXPECT_EQ(one(read + R"("inputSchema":{"type":"object"},"execution":{"taskSupport":"required"})"),
            "error task-only t /execution/taskSupport\n");
}

TEST_F(Lint, FindsMissingAndContradictoryHints) {
  const auto hints = [&](const std::string& annotations) {
    return one(R"("inputSchema":{"type":"object"})" + (annotations.empty() ? "" : ",\"annotations\":" + annotations));
  };
  EXPECT_EQ(hints(""), "warning hints-missing t \n");
  EXPECT_EQ(hints(R"({"title":"T"})"), "warning hints-missing t /annotations\n");
  EXPECT_EQ(hints(R"({"readOnlyHint":false})"), "warning hints-missing t /annotations\n");
  EXPECT_EQ(hints(R"({"readOnlyHint":false,"destructiveHint":true})"), "");
  EXPECT_EQ(hints(R"({"readOnlyHint":true,"destructiveHint":true})"), "error hints-contradict t /annotations\n");
  EXPECT_EQ(hints(R"({"readOnlyHint":"true"})"),
            "error hint-type t /annotations/readOnlyHint\nwarning hints-missing t /annotations\n");
}

TEST_F(Lint, FindsNamesAndHiddenCharacters) {
  const std::string rest = R"(,"inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}})";
  EXPECT_EQ(lint(R"([5,{"title":"x"},{"name":7}])"), "error no-name  \nerror no-name  \nerror no-name  \n");
  EXPECT_EQ(lint(R"([{"name":"a b")" + rest + "]"), "error unusual-name a b /name\n");
  EXPECT_EQ(lint(R"([{"name":"sallyport_x")" + rest + "]"), "error reserved-name sallyport_x /name\n");
  EXPECT_EQ(lint(R"([{"name":"a")" + rest + R"(,{"name":"a")" + rest + "]"), "error duplicate-name a /name\n");
  EXPECT_EQ(lint(R"([{"name":"list_1")" + rest + R"(,{"name":"list_l")" + rest + "]"),
            "warning lookalike-name list_1 /name\nwarning lookalike-name list_l /name\n");
  EXPECT_EQ(lint(R"([{"name":"a","description":"x\u202ey")" + rest + "]"), "error hidden-character a /description\n");
  EXPECT_EQ(lines(lint_text("do\xE2\x80\x8B it", "instructions")), "error hidden-character  \n");
}

TEST_F(Lint, TellsWhereInTheText) {
  const auto findings =
      lint_tools(list("[\n  {\"name\": \"t\",\n   \"inputSchema\": {\"type\": 5},\n"
                      "   \"annotations\": {\"readOnlyHint\": true}}]"));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings.front().position.line, 3U);
  EXPECT_EQ(findings.front().position.column, 19U);
}

TEST_F(Lint, FindsListsThatDiffer) {
  const std::string a = R"({"name":"a","inputSchema":{"type":"object"}})";
  const std::string b = R"({"name":"b","inputSchema":{"type":"object"}})";
  const std::string changed = R"({"inputSchema":{"type":"object"},"name":"a","description":"at 12:00"})";
  const auto both = [&](const std::string& first, const std::string& second) {
    return lines(lint_stability(list(first), list(second), "later"));
  };
  EXPECT_EQ(both("[" + a + "," + b + "]", "[" + a + "," + b + "]"), "");
  EXPECT_EQ(both("[" + a + "," + b + "]", "[" + b + "," + a + "]"), "warning unstable-order  \n");
  EXPECT_EQ(both("[" + a + "]", "[" + a + "," + b + "]"), "error unstable-list b \n");
  EXPECT_EQ(both("[" + a + "," + b + "]", "[" + b + "]"), "error unstable-list a \n");
  EXPECT_EQ(both("[" + a + "]", "[" + changed + "]"), "error unstable-definition a /description\n");
}

TEST_F(Lint, JudgesResultsByTheOutputSchema) {
  const json::Value tool = parse(kGood);
  const auto result = [&](const std::string& text) { return lines(lint_result(tool, parse(text))); };
  EXPECT_EQ(result(R"({"content":[],"structuredContent":{"n":1}})"), "");
  EXPECT_EQ(result(R"({"content":[]})"), "error result look \n");
  EXPECT_EQ(result(R"({"structuredContent":{"n":"1"}})"), "error result look /n\n");
  EXPECT_EQ(result(R"({"structuredContent":{"n":1,"n":2}})"), "error result look /n\n");
  EXPECT_EQ(lines(lint_result(parse(R"({"name":"x"})"), parse("{}"))), "");
}

TEST_F(Lint, OnlyCallsWhatPromisesToChangeNothing) {
  const auto callable = [&](const std::string& members) {
    return lint_callable(parse("{\"name\":\"t\",\"outputSchema\":{}," + members + "}"));
  };
  const std::string input = R"("inputSchema":{"type":"object"})";
  EXPECT_TRUE(lint_callable(parse(kGood)));
  EXPECT_TRUE(callable(input + R"(,"annotations":{"readOnlyHint":true})"));
  EXPECT_FALSE(callable(input));
  EXPECT_FALSE(callable(input + R"(,"annotations":{"readOnlyHint":false})"));
  EXPECT_FALSE(callable(input + R"(,"annotations":{"readOnlyHint":true,"destructiveHint":true})"));
  EXPECT_FALSE(callable(R"("inputSchema":{"type":"object","required":["a"]},"annotations":{"readOnlyHint":true})"));
  EXPECT_FALSE(callable(R"("inputSchema":{"type":"nonsense"},"annotations":{"readOnlyHint":true})"));
}

}  // namespace
}  // namespace sallyport::gateway
