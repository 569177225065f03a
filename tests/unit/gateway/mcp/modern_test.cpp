#include "gateway/mcp/modern.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "gateway/mcp/param_headers.hpp"

namespace sallyport::gateway::mcp {
namespace {

std::shared_ptr<const json::Document> doc(std::string text) {
  auto parsed = json::Document::parse(std::move(text));
  EXPECT_TRUE(parsed.has_value());
  return std::make_shared<const json::Document>(std::move(*parsed));
}

constexpr std::string_view kVersion = R"("io.modelcontextprotocol/protocolVersion":"2026-07-28")";
constexpr std::string_view kCapabilities = R"("io.modelcontextprotocol/clientCapabilities":{})";

std::string params(const std::string& meta) { return R"({"name":"x","_meta":{)" + meta + "}}"; }
std::string whole(const std::string& more = {}) {
  return params(std::string(kVersion) + "," + std::string(kCapabilities) + more);
}

std::string fault_of(const std::string& text) {
  const auto document = doc(text);
  const auto read = read_envelope(document->root());
  EXPECT_FALSE(read.has_value()) << text;
  if (read) return {};
  EXPECT_EQ(read.error().code, code::kInvalidParams);
  return read.error().message;
}

TEST(Envelope, SaysWhatTheRequestIs) {
  const auto document = doc(
      whole(R"(,"io.modelcontextprotocol/clientInfo":{"name":"a"},"io.modelcontextprotocol/logLevel":"info","x":1)"));
  EXPECT_TRUE(claims_modern(document->root()));
  const auto read = read_envelope(document->root());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->version, "2026-07-28");
  EXPECT_EQ(read->client_info.find("name").string(), "a");
  EXPECT_TRUE(read->log_level.equals("info"));
}

TEST(Envelope, NamesWhatIsMissingOrWrong) {
  EXPECT_EQ(fault_of("{}"), "Missing required _meta: io.modelcontextprotocol/protocolVersion");
  EXPECT_EQ(fault_of(params(std::string(kVersion))),
            "Missing required _meta: io.modelcontextprotocol/clientCapabilities");
  EXPECT_EQ(fault_of(params(std::string(kCapabilities))),
            "Missing required _meta: io.modelcontextprotocol/protocolVersion");
  for (const std::string wrong : {
           R"("io.modelcontextprotocol/protocolVersion":1,"io.modelcontextprotocol/clientCapabilities":{})",
           R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":[])",
       }) {
    EXPECT_TRUE(fault_of(params(wrong)).contains(" must be ")) << wrong;
  }
  EXPECT_TRUE(fault_of(whole(R"(,"io.modelcontextprotocol/clientInfo":"a")")).contains("clientInfo"));
  EXPECT_TRUE(fault_of(whole(R"(,"io.modelcontextprotocol/logLevel":"loud")")).contains("logLevel"));
  EXPECT_TRUE(fault_of(R"({"_meta":[]})").contains("_meta"));
}

TEST(Envelope, ThatCanBeReadInTwoWaysIsRefused) {
  EXPECT_TRUE(fault_of(whole("," + std::string(kCapabilities))).contains("two ways"));
  EXPECT_TRUE(fault_of(whole(R"(,"io.modelcontextprotocol/ClientCapabilities":{"sampling":{}})")).contains("two ways"));
}

TEST(Envelope, LegacyParamsClaimNothing) {
  for (const std::string text : {"{}", R"({"_meta":{}})", R"({"_meta":{"progressToken":1}})", R"({"_meta":7})"}) {
    EXPECT_FALSE(claims_modern(doc(text)->root())) << text;
  }
  EXPECT_TRUE(claims_modern(doc(params(R"("io.modelcontextprotocol/protocolVersion":null)"))->root()));
}

TEST(Versions, UnsupportedNamesAllThatAreSpoken) {
  const RpcError error = unsupported_version("2030-01-01");
  EXPECT_EQ(error.code, code::kUnsupportedVersion);
  EXPECT_EQ(error.data, R"({"supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],)"
                        R"("requested":"2030-01-01"})");
  EXPECT_TRUE(is_modern("2026-07-28"));
  EXPECT_FALSE(is_modern("2025-11-25"));
  EXPECT_EQ(negotiate("2026-07-28"), "2025-11-25");
}

TEST(HeaderText, GoesThroughAHeaderAndComesBack) {
  for (const std::string text : {"fs.read", "a b", "", " a", "a ", "\ta", "gr\xC3\xBC\xC3\x9F", "a\nb",
                                 "=?base64?YQ==?=", "=?base64?", "?=", "\x7f"}) {
    const std::string header = encode_header(text);
    for (const char c : header) EXPECT_TRUE(c >= ' ' && c <= '~') << text;
    EXPECT_FALSE(header.empty());
    EXPECT_EQ(decode_header(header), text);
  }
  EXPECT_EQ(encode_header("fs.read"), "fs.read");
  EXPECT_EQ(encode_header("gr\xC3\xBC\xC3\x9F"), "=?base64?Z3LDvMOf?=");
}

TEST(HeaderText, BrokenEncodingIsNoText) {
  for (const std::string text :
       {"=?base64?YQ=?=", "=?base64?YQ?=", "=?base64?Y Q==?=", "=?base64?_w==?=", "=?base64?/w==?=", "=?base64?="}) {
    EXPECT_EQ(decode_header(text), std::nullopt) << text;
  }
}

TEST(HeaderName, MirrorsTheMemberOfItsMethod) {
  const auto document = doc(R"({"name":"n","uri":"u://","taskId":"t","other":1})");
  EXPECT_EQ(name_of("tools/call", document->root()), "n");
  EXPECT_EQ(name_of("prompts/get", document->root()), "n");
  EXPECT_EQ(name_of("resources/read", document->root()), "u://");
  EXPECT_EQ(name_of("tasks/cancel", document->root()), "t");
  EXPECT_EQ(name_of("tools/list", document->root()), std::nullopt);
  EXPECT_EQ(name_of("tools/call", doc(R"({"name":1})")->root()), std::nullopt);
}

TEST(Results, TakeAndLoseWhatOnlyOneEraHas) {
  EXPECT_EQ(with_first("{}", R"("resultType":"complete")"), R"({"resultType":"complete"})");
  EXPECT_EQ(with_first("{ }", R"("resultType":"complete")"), R"({"resultType":"complete" })");
  EXPECT_EQ(with_first(R"({"a":1})", R"("resultType":"complete")"), R"({"resultType":"complete","a":1})");
  const auto document = doc(R"({"resultType":"complete", "a": 1.0 ,"ttlMs":5,"cacheScope":"public"})");
  EXPECT_EQ(without_era_members(document->root()), R"({ "a": 1.0 })");
  EXPECT_EQ(without_era_members(doc(R"({"a": 1.0})")->root()), R"({"a": 1.0})");
  EXPECT_EQ(result_type_of(document->root()), "complete");
  EXPECT_EQ(result_type_of(doc("{}")->root()), "complete");
  EXPECT_EQ(result_type_of(doc(R"({"resultType":null})")->root()), std::nullopt);
}

// === x-mcp-header

std::string schema(const std::string& properties) { return R"({"type":"object","properties":{)" + properties + "}}"; }

TEST(ParamHeaders, AreFoundAtAnyDepthOfProperties) {
  const auto document = doc(schema(
      R"("path":{"type":"string","x-mcp-header":"Path"},)"
      R"("in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"},"x-mcp-header":{"type":"string"}}})"));
  auto found = param_headers(document->root());
  ASSERT_TRUE(found.has_value()) << found.error().message;
  ASSERT_EQ(found->size(), 2U);
  const auto arguments = doc(R"({"path":"/gr\u00fc\u00df","in":{"n":42.0}})");
  auto values = param_values(*found, arguments->root());
  std::ranges::sort(values);
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0], (std::pair<std::string, std::string>("Mcp-Param-N", "42")));
  EXPECT_EQ(values[1].second, "=?base64?L2dyw7zDnw==?=");
}

TEST(ParamHeaders, ForbiddenDeclarationsMakeTheToolUnusable) {
  for (const std::string& text : {
           schema(R"("a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"})"),
           schema(R"("a":{"type":"object","x-mcp-header":"A"})"),
           schema(R"("a":{"x-mcp-header":"A"})"),
           schema(R"("a":{"type":"number","x-mcp-header":"A"})"),
           schema(R"("a":{"type":["string","null"],"x-mcp-header":"A"})"),
           schema(R"("a":{"type":"string","x-mcp-header":""})"),
           schema(R"("a":{"type":"string","x-mcp-header":"a b"})"),
           schema(R"("a":{"type":"string","x-mcp-header":7})"),
           schema(R"("a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}})"),
           schema(R"("a":{"anyOf":[{"type":"string","x-mcp-header":"A"}]})"),
           std::string(R"({"type":"object","x-mcp-header":"A"})"),
           std::string(R"({"$defs":{"d":{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"}}}}})"),
       }) {
    EXPECT_FALSE(param_headers(doc(text)->root()).has_value()) << text;
  }
}

std::optional<std::string> disagreement(const std::string& type, const std::string& arguments,
                                        std::optional<std::string> sent) {
  const auto document = doc(schema(R"("a":{"type":")" + type + R"(","x-mcp-header":"A"})"));
  const auto declared = param_headers(document->root());
  EXPECT_TRUE(declared.has_value());
  const auto body = doc(arguments);
  return param_mismatch(*declared, body->root(), [&](std::string_view name) -> std::optional<std::string_view> {
    if (name != "Mcp-Param-A" || !sent) return std::nullopt;
    return *sent;
  });
}

TEST(ParamHeaders, AgreeWithTheirArguments) {
  EXPECT_EQ(disagreement("string", R"({"a":"x"})", "x"), std::nullopt);
  EXPECT_EQ(disagreement("string", R"({"a":"\u0078"})", "=?base64?eA==?="), std::nullopt);
  EXPECT_EQ(disagreement("boolean", R"({"a":true})", "true"), std::nullopt);
  EXPECT_EQ(disagreement("integer", R"({"a":42})", "42"), std::nullopt);
  EXPECT_EQ(disagreement("integer", R"({"a":42.0})", "42"), std::nullopt);
  EXPECT_EQ(disagreement("integer", R"({"a":42})", "42.0"), std::nullopt);
  EXPECT_EQ(disagreement("integer", R"({"a":9007199254740993})", "9007199254740993"), std::nullopt);
  EXPECT_EQ(disagreement("string", R"({"a":null})", "anything"), std::nullopt) << "not expected, so ignored";
  EXPECT_EQ(disagreement("string", "{}", std::nullopt), std::nullopt);
  EXPECT_EQ(disagreement("string", R"({"a":{}})", std::nullopt), std::nullopt) << "the schema's business";
}

TEST(ParamHeaders, ThatDisagreeSaySo) {
  EXPECT_TRUE(disagreement("string", R"({"a":"x"})", std::nullopt).has_value());
  EXPECT_TRUE(disagreement("string", R"({"a":"x"})", "X").has_value());
  EXPECT_TRUE(disagreement("string", R"({"a":"x"})", "=?base64?eA?=").has_value());
  EXPECT_TRUE(disagreement("string", R"({"a":"42"})", "42.0").has_value());
  EXPECT_TRUE(disagreement("boolean", R"({"a":true})", "True").has_value());
  EXPECT_TRUE(disagreement("integer", R"({"a":42})", "43").has_value());
  EXPECT_TRUE(disagreement("integer", R"({"a":42})", "0x2a").has_value());
  EXPECT_TRUE(disagreement("integer", R"({"a":1000})", "1e3").has_value());
  EXPECT_TRUE(disagreement("integer", R"({"a":9007199254740993})", "9007199254740992").has_value());
}

}  // namespace
}  // namespace sallyport::gateway::mcp
