// What requests to modern servers say of themselves, and what their answers tell of the era.
#include "gateway/servers/envelope.hpp"

#include <gtest/gtest.h>

#include "gateway/mcp/protocol.hpp"

namespace sallyport::gateway::servers {
namespace {

ServerAnswer answered(const std::string& text, bool error = false, std::optional<int> status = {}) {
  ServerAnswer answer;
  answer.sent = true;
  answer.kind = error ? ServerAnswer::Kind::error : ServerAnswer::Kind::result;
  auto document = json::Document::parse(text);
  answer.document = std::make_shared<const json::Document>(std::move(*document));
  (error ? answer.error : answer.result) = answer.document->root();
  answer.http_status = status;
  return answer;
}

EraProof proof(const std::string& text, bool error = false, std::optional<int> status = {}) {
  return judge_discover(answered(text, error, status));
}

TEST(Envelope, SaysWhoAsksInItsFirstMembers) {
  EXPECT_EQ(envelope_members({"1.2", "", ""}),
            R"("io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
            R"("io.modelcontextprotocol/clientInfo":{"name":"sallyport","version":"1.2"},)"
            R"("io.modelcontextprotocol/clientCapabilities":{})");
  const std::string loud = envelope_members({"1", R"({"roots":{}})", "warning"});
  EXPECT_TRUE(loud.ends_with(
      R"("io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"warning")"))
      << loud;
}

TEST(Envelope, DeclaresWhatBothSidesAllow) {
  const std::string all =
      R"({"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true}})";
  EXPECT_EQ(common_capabilities("{}", all), "{}");
  EXPECT_EQ(common_capabilities(all, ""), "{}");
  EXPECT_EQ(common_capabilities(all, "nonsense"), "{}");
  EXPECT_EQ(common_capabilities(all, R"({"elicitation":{"form":{}},"sampling":{}})"),
            R"({"elicitation":{"form":{}},"sampling":{}})");
  EXPECT_EQ(common_capabilities(R"({"roots":{}})", all), R"({"roots":{}})") << "changes of roots are told to nobody";
  EXPECT_EQ(common_capabilities(all, R"({"elicitation":7})"), "{}");
}

TEST(Envelope, DeclaresOnlyExtensionsThatTheGatewayKnows) {
  EXPECT_EQ(common_capabilities("{}", R"({"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]},)"
                                      R"("com.example/x":{},"io.modelcontextprotocol/tasks":{}}})"),
            R"({"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["a"]},"io.modelcontextprotocol/tasks":{}}})");
  EXPECT_EQ(common_capabilities("{}", R"({"extensions":{"com.example/x":{}}})"), "{}");
}

TEST(Envelope, PassesOnWhatDoesNotSpeakOfTheClientsLeg) {
  EXPECT_EQ(passed_meta(R"("traceparent":"00-1","io.modelcontextprotocol/logLevel":"debug","n":1.0,"progressToken":7)"),
            R"("traceparent":"00-1","n":1.0)");
  EXPECT_EQ(passed_meta(""), "");
  EXPECT_EQ(passed_meta("nonsense"), "");
}

TEST(Envelope, StandsInTheParamsOfEveryRequest) {
  const Envelope envelope{"1", "{}", ""};
  EXPECT_EQ(*modern_params("", envelope, "5", false), R"({"_meta":{)" + envelope_members(envelope) + "}}");
  EXPECT_EQ(*modern_params(R"({"cursor":"c","_meta":{"baggage":"b"}})", envelope, "5", true),
            R"({"cursor":"c","_meta":{)" + envelope_members(envelope) + R"(,"baggage":"b","progressToken":5}})");
  for (const char* wrong : {"[]", "7", "{", R"({"_meta":7})"}) {
    EXPECT_FALSE(modern_params(wrong, envelope, "5", false).has_value()) << wrong;
  }
}

TEST(Envelope, IsMirroredInHeaders) {
  const auto document = json::Document::parse(R"({"taskId":"t/1","name":"n"})");
  const HeaderList task = standard_headers("tasks/get", document->root(), {});
  EXPECT_EQ(task, (HeaderList{{"Mcp-Method", "tasks/get"}, {"Mcp-Name", "t/1"}}));
  EXPECT_EQ(standard_headers("tools/list", document->root(), {}), (HeaderList{{"Mcp-Method", "tools/list"}}));
}

TEST(Discovery, ShowsTheEra) {
  EXPECT_EQ(proof(R"({"supportedVersions":["2025-11-25","2026-07-28"]})"), EraProof::modern);
  EXPECT_EQ(proof(R"({"supportedVersions":["2025-11-25"]})"), EraProof::legacy);
  EXPECT_EQ(proof(R"({"supportedVersions":["2031-01-01"]})"), EraProof::foreign);
  EXPECT_EQ(proof("{}"), EraProof::legacy);
  EXPECT_EQ(proof(R"({"code":-32601,"message":"?"})", true), EraProof::legacy);
  EXPECT_EQ(proof(R"({"code":-32020,"message":"?"})", true, 400), EraProof::modern);
  EXPECT_EQ(proof(R"({"code":-32021,"message":"?"})", true, 400), EraProof::modern);
  EXPECT_EQ(proof(R"({"code":-32022,"data":{"supported":["2026-07-28"]}})", true, 400), EraProof::modern);
  EXPECT_EQ(proof(R"({"code":-32022,"data":{"supported":["2024-11-05"]}})", true, 400), EraProof::legacy);
  EXPECT_EQ(proof(R"({"code":-32022,"data":{"supported":["2031-01-01"]}})", true, 400), EraProof::foreign);
  for (const int status : {401, 403, 408, 429, 500, 503}) {
    EXPECT_EQ(proof(R"({"code":-32000,"message":"?"})", true, status), EraProof::nothing) << status;
  }
  EXPECT_EQ(judge_discover({}), EraProof::nothing);
}

TEST(Discovery, IsReadWithinBounds) {
  const auto read =
      read_discover(answered(R"({"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"i",)"
                             R"("_meta":{"io.modelcontextprotocol/serverInfo":{"name":"n","version":"v"}}})"));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->name + read->version + read->instructions, "nvi");
  EXPECT_EQ(read->capabilities_raw, R"({"tools":{}})");
  EXPECT_EQ(read->protocol_version, mcp::kModernVersion);
  EXPECT_FALSE(read_discover(answered(R"({"supportedVersions":["2031-01-01"]})")).has_value());
}

TEST(Discovery, FreshnessIsANumberWithinADay) {
  const auto ttl = [](const std::string& text) {
    const auto document = json::Document::parse(text);
    return ttl_of(document->root());
  };
  EXPECT_EQ(ttl("{}"), std::nullopt);
  EXPECT_EQ(ttl(R"({"ttlMs":"5"})"), std::nullopt);
  EXPECT_EQ(ttl(R"({"ttlMs":1500})"), Millis(1500));
  EXPECT_EQ(ttl(R"({"ttlMs":-1})"), Millis(0));
  EXPECT_EQ(ttl(R"({"ttlMs":1e300})"), Millis(24 * 3600 * 1000));
}

}  // namespace
}  // namespace sallyport::gateway::servers
