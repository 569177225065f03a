#include "gateway/net/http_codec.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway {
namespace {

int judged(std::string_view head) {
  HttpLimits limits;
  limits.body_bytes = 1000;
  limits.target_bytes = 100;
  limits.header_fields = 10;
  const auto fault = check_request_head(head, limits);
  return fault ? fault->status : 200;
}

std::string with(std::string_view fields) { return "POST /mcp HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n"; }

TEST(RequestHead, IsTakenWhenItIsPlain) {
  EXPECT_EQ(judged(with("")), 200);
  EXPECT_EQ(judged(with("Content-Length: 1000\r\n")), 200);
  EXPECT_EQ(judged(with("Transfer-Encoding: chunked\r\n")), 200);
  EXPECT_EQ(judged(with("Transfer-Encoding:  CHUNKED \r\n")), 200);
  EXPECT_EQ(judged("GET / HTTP/1.1\r\nhost: a:1\r\nContent-Length: 0\r\n\r\n"), 200);
  EXPECT_EQ(judged("GET /x?y=1 HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(judged(with("X:\r\nY: \t\r\n")), 200);
}

// Each of these is read differently by one parser or another.
TEST(RequestHead, IsRefusedWhenItsEndIsUnclear) {
  const std::string bad[] = {
      with("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"),
      with("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
      with("Content-Length: 5\r\nContent-Length: 5\r\n"),
      with("Content-Length: 5, 5\r\n"),
      with("Content-Length: +5\r\n"),
      with("Content-Length: -1\r\n"),
      with("Content-Length: 0x5\r\n"),
      with("Content-Length: 5 5\r\n"),
      with("Content-Length: \r\n"),
      with("Content-Length: 99999999999999999999\r\n"),
      with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      with("Transfer-Encoding : chunked\r\n"),
      with(" Transfer-Encoding: chunked\r\n"),
      with("X: a\r\n Transfer-Encoding: chunked\r\n"),
      with("X: a\r\n\tb\r\n"),
      with("X: a\nTransfer-Encoding: chunked\r\n"),
      with("X: a\rTransfer-Encoding: chunked\r\n"),
      with(std::string("X: a\0b\r\n", 8)),
      with("X: \x01\r\n"),
      with("X: \xC3\xA4\r\n"),
      with("X\xC3: a\r\n"),
      with("no colon\r\n"),
      with(": empty\r\n"),
      with("Host: b\r\n"),
      "POST / HTTP/1.1\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a b\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: a/b\r\n\r\n",
      "POST / HTTP/1.1\r\nHost: u@a\r\n\r\n",
      "POST / HTTP/1.1\nHost: a\r\n\r\n",
      "POST  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / HTTP/1.1 \r\nHost: a\r\n\r\n",
      " POST / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /\tx HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /x y HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /#a HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST /\x7f HTTP/1.1\r\nHost: a\r\n\r\n",
      "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
      "P(ST / HTTP/1.1\r\nHost: a\r\n\r\n",
      "POST / http/1.1\r\nHost: a\r\n\r\n",
      "GET /\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n",
      "HEAD / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
      "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
  };
  for (const std::string& head : bad) EXPECT_EQ(judged(head), 400) << head;
}

TEST(RequestHead, IsRefusedWithTheStatusThatFits) {
  for (const char* coding :
       {"xchunked", "gzip", "gzip, chunked", "chunked, identity", "identity", "\"chunked\"", "chunked;x", ""}) {
    EXPECT_EQ(judged(with("Transfer-Encoding: " + std::string(coding) + "\r\n")), 501) << coding;
  }
  EXPECT_EQ(judged(with("Content-Length: 1001\r\n")), 413);
  EXPECT_EQ(judged("GET /" + std::string(100, 'x') + " HTTP/1.1\r\nHost: a\r\n\r\n"), 414);
  EXPECT_EQ(judged("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(judged("GET / HTTP/1.2\r\nHost: a\r\n\r\n"), 505);
  std::string many;
  for (int i = 0; i < 10; ++i) many += "X: y\r\n";
  EXPECT_EQ(judged(with(many)), 431);
}

struct Message {
  std::string body;
  std::string rest;
  std::size_t headers = 0;
  bool done = false;
  int fault = 0;
  bool operator==(const Message&) const = default;
};

// The head whole (as the server gives it), the rest in two pieces.
Message read(const std::string& text, std::size_t cut) {
  std::size_t from = 0;
  const std::size_t head_end = find_head_end(text, from);
  std::string head = text.substr(0, head_end);
  HttpMessageReader reader(HttpMessageReader::Kind::request, 4096, 100);
  Message out;
  auto fault = reader.put(head);
  EXPECT_TRUE(head.empty());
  std::string buffer;
  for (const std::string& piece : {text.substr(head_end, cut), text.substr(std::min(text.size(), head_end + cut))}) {
    // Byte by byte within a piece as well: every look of the parser is a second look.
    for (const char byte : piece) {
      buffer += byte;
      if (!fault) fault = reader.put(buffer);
    }
  }
  out.body = reader.body();
  out.rest = buffer;
  out.done = reader.done();
  out.fault = fault ? fault->status : 0;
  out.headers = reader.take_headers().fields().size();
  return out;
}

std::string chunked(std::string_view body) {
  return "POST /mcp?a=b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(body);
}

TEST(HttpMessageReader, TakesChunkedBodiesCutAnywhere) {
  const std::string text = chunked("3\r\nabc\r\n1;x=y\r\nd\r\n00a\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nGET");
  Message expected;
  expected.body = "abcd0123456789";
  expected.rest = "GET";
  expected.headers = 2;  // the trailer is none
  expected.done = true;
  for (std::size_t cut = 0; cut <= 60; ++cut) EXPECT_EQ(read(text, cut), expected) << cut;
  Message empty;
  empty.headers = 2;
  empty.done = true;
  EXPECT_EQ(read(chunked("0\r\n\r\n"), 1), empty);
}

TEST(HttpMessageReader, RefusesBadChunks) {
  for (const char* body :
       {"x\r\nabc\r\n0\r\n\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "-3\r\nabc\r\n0\r\n\r\n",
        "fffffffffffffffff\r\nabc\r\n0\r\n\r\n", "3 \r\nabc\r\n0\r\n\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "0\r\nContent-Length: 5\r\n\r\n", "0\r\nTransfer-Encoding: chunked\r\n\r\n"}) {
    const Message message = read(chunked(body), 1);
    EXPECT_EQ(message.fault, 400) << body;
    EXPECT_FALSE(message.done) << body;
  }
  EXPECT_EQ(read(chunked("65\r\n" + std::string(101, 'x') + "\r\n0\r\n\r\n"), 1).fault, 413);
  EXPECT_EQ(read(chunked("1;" + std::string(300, 'x') + "\r\na\r\n0\r\n\r\n"), 1).fault, 400);
  EXPECT_EQ(read(chunked("0\r\nX: " + std::string(40000, 'x')), 1).fault, 400);
}

TEST(HttpMessageReader, TakesABodyByItsLength) {
  Message expected;
  expected.body = "0123456789";
  expected.rest = "POST";
  expected.headers = 2;
  expected.done = true;
  for (std::size_t cut = 0; cut < 14; ++cut) {
    EXPECT_EQ(read("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789POST", cut), expected);
  }
}

TEST(ResponseHead, IsJudgedToo) {
  EXPECT_FALSE(check_response_head("HTTP/1.1 200 OK\r\nServer: caf\xC3\xA9\r\n\r\n"));
  EXPECT_FALSE(check_response_head("HTTP/1.1 200 \r\nContent-Length: 3\r\n\r\n"));
  for (const char* head : {"HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 20 OK\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
                           "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                           "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
                           "HTTP/1.1 200 OK\r\nX: a\r\n folded\r\n\r\n", "HTTP/1.1 200 OK\nX: a\r\n\r\n"}) {
    EXPECT_TRUE(check_response_head(head)) << head;
  }
}

TEST(HeadWriters, RefuseWhatWouldEndAHeaderEarly) {
  EXPECT_FALSE(response_head(200, {{"X", "a\r\nY: b"}}, HttpFraming::length, 0, true));
  EXPECT_FALSE(response_head(200, {{"X Y", "a"}}, HttpFraming::length, 0, true));
  EXPECT_FALSE(request_head("GET", "/ HTTP/1.1\r\nX: y", "a", {}, 0, false));
  EXPECT_FALSE(request_head("GET /", "/", "a", {}, 0, false));
  EXPECT_FALSE(request_head("GET", "relative", "a", {}, 0, false));
  // Framing is the writer's business alone.
  const Result<std::string> head = request_head(
      "POST", "/x", "a", {{"content-length", "99"}, {"Transfer-Encoding", "chunked"}, {"X", "y"}}, 3, true);
  ASSERT_TRUE(head);
  EXPECT_EQ(*head, "POST /x HTTP/1.1\r\nHost: a\r\nAccept-Encoding: identity\r\nX: y\r\nContent-Length: 3\r\n\r\n");
  EXPECT_EQ(chunk("abc"), "3\r\nabc\r\n");
  EXPECT_EQ(chunk(""), "");
}

}  // namespace
}  // namespace sallyport::gateway
