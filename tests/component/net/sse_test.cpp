#include "gateway/net/sse.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway {
namespace {

struct Seen {
  std::string events;
  std::string last_id;
  std::optional<std::uint64_t> retry;
  bool operator==(const Seen&) const = default;
};

Seen read(std::initializer_list<std::string_view> parts) {
  SseReader reader(1000);
  std::vector<SseEvent> events;
  for (const std::string_view part : parts) EXPECT_TRUE(reader.feed(part, events));
  Seen seen;
  for (const SseEvent& event : events) {
    seen.events += event.event + "/" + event.id.value_or("-") + "/" + event.data + "|";
  }
  seen.last_id = reader.last_event_id();
  seen.retry = reader.retry_ms();
  return seen;
}

const std::string kStream =
    "\xEF\xBB\xBF: hello\r\n"
    "id: s-0\nretry: 3000\ndata:\n\n"                // priming event
    "event: a\rdata: {\"x\":\rdata:1}\r\r"           // CR only, two data lines
    "data: one\r\ndata:  two\r\ndata\r\nid\r\n\r\n"  // CRLF, a field without colon, an id without value
    ": comment\n\n"
    "event: nothing\n\n"  // no data: no event
    "retry: 12x\nretry:\nid: a\nunknown: z\ndata:c:d\n\n"
    "data: cut off";

TEST(SseReader, GivesTheSameEventsHoweverTheBytesAreCut) {
  Seen expected;
  expected.events = "/s-0/|a/-/{\"x\":\n1}|/" + std::string() + "/one\n two\n|/a/c:d|";
  expected.last_id = "a";
  expected.retry = 3000;
  const std::string_view text = kStream;
  EXPECT_EQ(read({text}), expected);
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(read({text.substr(0, cut), text.substr(cut)}), expected) << cut;
    for (std::size_t next = cut; next <= text.size(); next += 7) {
      EXPECT_EQ(read({text.substr(0, cut), text.substr(cut, next - cut), text.substr(next)}), expected) << cut;
    }
  }
}

TEST(SseReader, IgnoresAnIdWithNul) {
  EXPECT_EQ(read({std::string_view("id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n", 32)}).last_id, "1");
}

TEST(SseReader, CountsTheLimitPerEventAndNotPerStream) {
  SseReader reader(100);
  std::vector<SseEvent> events;
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(reader.feed("data: " + std::string(90, 'x') + "\n\n: " + std::string(80, 'c') + "\n", events));
  EXPECT_EQ(events.size(), 200);
  ASSERT_TRUE(reader.feed("data: " + std::string(50, 'x') + "\n", events));
  const Status over = reader.feed("data: " + std::string(50, 'x') + "\n", events);
  ASSERT_FALSE(over);
  EXPECT_EQ(over.error().code, ErrorCode::limit);
}

TEST(SseReader, BoundsALineWithoutEnd) {
  SseReader reader(100);
  std::vector<SseEvent> events;
  ASSERT_TRUE(reader.feed(std::string(100, 'x'), events));
  EXPECT_FALSE(reader.feed("x", events));
}

TEST(SseReader, KnowsWhetherItIsInsideAnEvent) {
  SseReader reader(100);
  std::vector<SseEvent> events;
  EXPECT_FALSE(reader.inside_event());
  ASSERT_TRUE(reader.feed("data: x\n", events));
  EXPECT_TRUE(reader.inside_event());
  ASSERT_TRUE(reader.feed("\n", events));
  EXPECT_FALSE(reader.inside_event());
}

TEST(SseWriter, WritesWhatTheReaderReads) {
  SseEvent event;
  event.event = "me\nss";
  event.id = std::string("a\r\nb\0c", 6);
  event.data = "one\ntwo\r\nthree\rfour\n";
  const std::string text = sse_event(event);
  EXPECT_EQ(text, "event: mess\nid: abc\ndata: one\ndata: two\ndata: three\ndata: four\ndata: \n\n");
  EXPECT_EQ(read({text}).events, "mess/abc/one\ntwo\nthree\nfour\n|");
  EXPECT_EQ(sse_data(""), "data: \n\n");
  EXPECT_EQ(sse_data("{}"), "data: {}\n\n");
  EXPECT_EQ(sse_comment("keep\nalive"), ": keep\n: alive\n\n");
  EXPECT_EQ(sse_retry(500), "retry: 500\n\n");
  EXPECT_EQ(read({sse_comment("x"), sse_retry(7)}).retry, 7);
}

}  // namespace
}  // namespace sallyport::gateway
