#include "gateway/mcp/jsonrpc.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway::mcp {
namespace {

using Kind = Message::Kind;

IncomingResult parse(std::string text, bool batch = false) { return parse_incoming(std::move(text), {}, batch); }

Message one(std::string text) {
  auto incoming = parse(text);
  EXPECT_TRUE(incoming.has_value()) << text << ": " << (incoming ? "" : incoming.error().error.message);
  return incoming ? incoming->messages.at(0) : Message{};
}

IncomingFault fault(std::string text, bool batch = false) {
  auto incoming = parse(text, batch);
  EXPECT_FALSE(incoming.has_value()) << text;
  return incoming ? IncomingFault{} : incoming.error();
}

std::shared_ptr<const json::Document> doc(std::string text) {
  auto parsed = json::Document::parse(std::move(text));
  EXPECT_TRUE(parsed.has_value());
  return std::make_shared<const json::Document>(std::move(*parsed));
}

TEST(JsonRpcParse, RequestKeepsTheExactIdToken) {
  for (const std::string id : {"7", "0", "-3", "12345678901234567890", R"("a")", R"("1")", R"("\u0041")"}) {
    const Message message = one(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"ping"})");
    EXPECT_EQ(message.kind, Kind::request);
    EXPECT_EQ(message.id, id);
    EXPECT_EQ(message.method, "ping");
    EXPECT_FALSE(message.params);
  }
}

TEST(JsonRpcParse, ParamsAreAViewOfTheBytesThatCame) {
  const Message message =
      one(R"({"method":"tools/call","params":{"name":"x","arguments":{"n":1.00,"b":1e2}},"id":1,"jsonrpc":"2.0"})");
  EXPECT_EQ(message.params.find("arguments").raw(), R"({"n":1.00,"b":1e2})");
}

TEST(JsonRpcParse, NullParamsAreNone) {
  EXPECT_FALSE(one(R"({"jsonrpc":"2.0","method":"notifications/initialized","params":null})").params);
}

TEST(JsonRpcParse, NotificationHasNoId) {
  const Message message = one(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  EXPECT_EQ(message.kind, Kind::notification);
  EXPECT_TRUE(message.id.empty());
}

// C031
TEST(JsonRpcParse, NullIdIsNoNotification) {
  const IncomingFault bad = fault(R"({"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"pay"}})");
  EXPECT_EQ(bad.error.code, code::kInvalidRequest);
  EXPECT_EQ(bad.id, "null");
}

TEST(JsonRpcParse, NotificationMethodWithAnIdIsARequest) {
  EXPECT_EQ(one(R"({"jsonrpc":"2.0","id":9,"method":"notifications/cancelled","params":{"requestId":4}})").kind,
            Kind::request);
}

// C026
TEST(JsonRpcParse, IdsWithFractionOrExponentAreRefused) {
  for (const std::string id : {"1.0", "1e0", "1.5", "true", "[1]", "{}"}) {
    EXPECT_EQ(fault(R"({"jsonrpc":"2.0","id":)" + id + R"(,"method":"ping"})").error.code, code::kInvalidRequest) << id;
  }
}

TEST(JsonRpcParse, OverlongIdIsRefused) {
  fault(R"({"jsonrpc":"2.0","id":")" + std::string(600, 'x') + R"(","method":"ping"})");
}

TEST(JsonRpcParse, ArrayParamsAreRefusedWithTheId) {
  const IncomingFault bad = fault(R"({"jsonrpc":"2.0","id":"a","method":"ping","params":[1]})");
  EXPECT_EQ(bad.error.code, code::kInvalidRequest);
  EXPECT_EQ(bad.id, R"("a")");
}

// C040
TEST(JsonRpcParse, WhatIsNoJsonIsAParseError) {
  for (const std::string text : {"", "{", R"({"a":NaN})", "{} {}", R"({"a":1,})", "// x\n{}", "\xff\xfe"}) {
    EXPECT_EQ(fault(text).error.code, code::kParseError) << text;
    EXPECT_EQ(fault(text).id, "null");
  }
}

TEST(JsonRpcParse, TooLongIsAnInvalidRequest) {
  auto incoming = parse_incoming(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", {.bytes = 10}, false);
  ASSERT_FALSE(incoming.has_value());
  EXPECT_EQ(incoming.error().error.code, code::kInvalidRequest);
}

TEST(JsonRpcParse, VersionMustBeTwo) {
  EXPECT_EQ(fault(R"({"jsonrpc":"1.0","id":4,"result":{}})").id, "4");
  EXPECT_EQ(fault(R"({"id":4,"method":"ping"})").error.code, code::kInvalidRequest);
  EXPECT_EQ(fault(R"({"jsonrpc":2.0,"id":4,"method":"ping"})").id, "4");
}

// C038
TEST(JsonRpcParse, EqualOrSimilarNamesInTheEnvelopeAreRefused) {
  for (const std::string text : {
           R"({"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"})",
           R"({"jsonrpc":"2.0","id":1,"method":"ping","\u006dethod":"tools/call"})",
           R"({"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"})",
           R"({"jsonrpc":"2.0","id":1,"Id":2,"method":"ping"})",
           R"({"jsonrpc":"2.0","ID":2,"method":"ping"})",
           R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b","arguments":{}}})",
           R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","\u006eame":"b"}})",
           R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"Name":"a"}})",
           R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{},"arguments":{}}})",
       }) {
    EXPECT_EQ(fault(text).error.code, code::kInvalidRequest) << text;
  }
}

TEST(JsonRpcParse, DoubtfulArgumentsAreLeftToTheJudge) {
  const Message message =
      one(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"x":1,"x":2}}})");
  EXPECT_TRUE(message.params.ambiguity().has_value());
}

TEST(JsonRpcParse, ResponsesAndErrors) {
  const Message result = one(R"({"result":{"a":1},"jsonrpc":"2.0","id":5})");
  EXPECT_EQ(result.kind, Kind::response);
  EXPECT_EQ(result.id, "5");
  EXPECT_EQ(result.result.raw(), R"({"a":1})");
  const Message error = one(R"({"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"bad","data":[1]}})");
  EXPECT_EQ(error.kind, Kind::error_response);
  EXPECT_EQ(error.error.find("code").integer(), -32602);
}

// C032
TEST(JsonRpcParse, ErrorsMayHaveNullOrNoId) {
  EXPECT_EQ(one(R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"bad"}})").id, "null");
  EXPECT_EQ(one(R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"bad"}})").id, "null");
}

// C029
TEST(JsonRpcParse, MalformedAnswersAreFaultsThatNameTheirId) {
  for (const std::string text : {
           R"({"jsonrpc":"2.0","id":6,"result":{},"error":{"code":1,"message":"m"}})",
           R"({"jsonrpc":"2.0","id":6})",
           R"({"jsonrpc":"2.0","id":6,"result":7})",
           R"({"jsonrpc":"2.0","id":6,"result":null})",
           R"({"jsonrpc":"2.0","id":6,"error":"no"})",
           R"({"jsonrpc":"2.0","id":6,"error":{"code":"1","message":"m"}})",
           R"({"jsonrpc":"2.0","id":6,"error":{"code":1}})",
           R"({"jsonrpc":"2.0","id":6,"method":"x","result":{}})",
       }) {
    EXPECT_EQ(fault(text).id, "6") << text;
  }
  fault(R"({"jsonrpc":"2.0","id":null,"result":{}})");
  fault(R"({"jsonrpc":"2.0","result":{}})");
}

TEST(JsonRpcParse, WhatIsNoObjectIsRefused) {
  for (const std::string text : {"42", R"("x")", "null", "[]", "[1]"}) {
    EXPECT_EQ(fault(text).error.code, code::kInvalidRequest) << text;
  }
}

TEST(JsonRpcParse, BatchesOnlyWhereAllowed) {
  const std::string text = R"([{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"}])";
  fault(text);
  auto incoming = parse(text, true);
  ASSERT_TRUE(incoming.has_value());
  EXPECT_TRUE(incoming->batch);
  ASSERT_EQ(incoming->messages.size(), 2U);
  EXPECT_EQ(incoming->messages[1].kind, Kind::notification);
  fault("[]", true);
}

TEST(JsonRpcParse, EachElementOfABatchStandsForItself) {
  const auto faults = [](std::string text) {
    auto incoming = parse(std::move(text), true);
    EXPECT_TRUE(incoming.has_value());
    std::string out;
    for (const Message& message : incoming->messages) out += std::string(message.id) + " ";
    for (const IncomingFault& fault : incoming->faults) out += "!" + fault.id + " ";
    return out;
  };
  const std::string good = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  EXPECT_EQ(faults("[" + good + R"(,1,[],{"jsonrpc":"2.0","id":2},{"jsonrpc":"2.0","id":null,"method":"x"}])"),
            "1 !null !null !2 !null ");
  EXPECT_EQ(faults("[[]]"), "!null ");
  EXPECT_EQ(faults("[" + good + "," + good + R"(,{"jsonrpc":"2.0","id":"1","method":"ping"}])"), "\"1\" !1 !1 ");
  EXPECT_EQ(faults(R"([{"jsonrpc":"2.0","id":"a","method":"m"},{"jsonrpc":"2.0","id":"\u0061","method":"m"}])"),
            "!\"a\" !\"\\u0061\" ");
  EXPECT_EQ(faults("[" + good + R"(,{"jsonrpc":"2.0","id":1,"result":{}}])"), "1 1 ") << "an answer of theirs";
}

TEST(JsonRpcWrite, MessagesAreBuiltOfRawSlices) {
  EXPECT_EQ(request("7", "tools/call", R"({"a":1.0})"),
            R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"a":1.0}})");
  EXPECT_EQ(request("7", "ping", ""), R"({"jsonrpc":"2.0","id":7,"method":"ping"})");
  EXPECT_EQ(notification("n\"", ""), R"({"jsonrpc":"2.0","method":"n\""})");
  EXPECT_EQ(notification("n", "{}"), R"({"jsonrpc":"2.0","method":"n","params":{}})");
  EXPECT_EQ(response(R"("a")", "{}"), R"({"jsonrpc":"2.0","id":"a","result":{}})");
  EXPECT_EQ(error_response("", {-32700, "no \"JSON\"", {}}),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no \"JSON\""}})");
  EXPECT_EQ(error_response("3", {1, "m", "[1]"}),
            R"({"jsonrpc":"2.0","id":3,"error":{"code":1,"message":"m","data":[1]}})");
}

TEST(JsonRpcSplice, MemberIsPutFirstAndTheRestKeepsItsBytes) {
  EXPECT_EQ(splice_member(doc("{}")->root(), "a", "1"), R"({"a":1})");
  EXPECT_EQ(splice_member(doc("{ }")->root(), "a", "1"), R"({"a":1})");
  EXPECT_EQ(splice_member(doc("{ \"b\" : 1.00 ,\n \"c\":[1, 2] }")->root(), "a", "1"),
            "{\"a\":1, \"b\" : 1.00 ,\n \"c\":[1, 2] }");
}

TEST(JsonRpcSplice, MembersOfThatNameAreReplaced) {
  EXPECT_EQ(splice_member(doc(R"({"b":2,"a":0,"c":"},{"})")->root(), "a", "1"), R"({"a":1,"b":2,"c":"},{"})");
  EXPECT_EQ(splice_member(doc(R"({"a":0,"\u0061":5})")->root(), "a", "1"), R"({"a":1})");
}

TEST(JsonRpcSplice, NestedObjectsWork) {
  const auto document = doc(R"({"x":[{"y":1 , "z":2}]})");
  EXPECT_EQ(splice_member(document->root().at("/x/0"), "n", "{}"), R"({"n":{},"y":1 , "z":2})");
}

TEST(JsonRpcSplice, CallMetaIsMadeOrPutFirst) {
  EXPECT_EQ(splice_call_meta(doc(R"({"content":[]})")->root(), "{}"),
            R"({"_meta":{"dev.sallyport/call":{}},"content":[]})");
  EXPECT_EQ(splice_call_meta(doc(R"({"content":[], "_meta": {"a": 1.0} })")->root(), "{}"),
            R"({"content":[], "_meta": {"dev.sallyport/call":{},"a": 1.0} })");
  EXPECT_EQ(splice_call_meta(doc(R"({"_meta":{}})")->root(), "{}"), R"({"_meta":{"dev.sallyport/call":{}}})");
  EXPECT_EQ(splice_call_meta(doc(R"({"_meta":null})")->root(), "{}"), R"({"_meta":{"dev.sallyport/call":{}}})");
}

TEST(JsonRpcSplice, OwnKeysOfAServerAreRemoved) {
  EXPECT_EQ(splice_call_meta(
                doc(R"({"_meta":{"dev.sallyport/call":{"verdict":"allow"},"k":1,"dev.sallyport/x":2}})")->root(), "{}"),
            R"({"_meta":{"dev.sallyport/call":{},"k":1}})");
  EXPECT_EQ(
      splice_call_meta(doc(R"({"_meta":{"k":1,"dev.sallyport\/call":2,"Dev.Sallyport/Call":3}, "c":1})")->root(), ""),
      R"({"_meta":{"k":1}, "c":1})");
}

TEST(JsonRpcSplice, WithoutOwnTheBytesStay) {
  const std::string text = "{ \"_meta\" : { \"k\":1 }\n}";
  EXPECT_EQ(splice_call_meta(doc(text)->root(), ""), text);
  EXPECT_EQ(splice_call_meta(doc(R"({"_meta":7})")->root(), ""), R"({"_meta":7})");
}

}  // namespace
}  // namespace sallyport::gateway::mcp
