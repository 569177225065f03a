#include "gateway/net/lines.hpp"

#include "gateway/net/memory_stream.hpp"
#include "tests/component/net/loop.hpp"

namespace sallyport::gateway {
namespace {

using std::string_literals::operator""s;
using testing::Loop;
using testing::soon;

std::string show(const LineSplitter::Line& line) {
  return line.text + (line.overlong ? "<overlong>" : "") + (line.unterminated ? "<unterminated>" : "") + "|";
}

std::string split(std::string_view first, std::string_view second, std::size_t max) {
  LineSplitter splitter(max);
  std::string out;
  for (const std::string_view part : {first, second}) {
    splitter.feed(part);
    while (auto line = splitter.next()) out += show(*line);
  }
  if (auto line = splitter.finish()) out += show(*line);
  return out;
}

TEST(LineSplitter, GivesTheSameLinesHoweverTheBytesAreCut) {
  const std::string text = "a\r\n\r\n\nbc\rd\n12345678\n12345678\r\n123456789\n1234567890123\r\nx\0y\nhalf"s;
  const std::string expected =
      "a|||bc\rd|12345678|12345678|12345678<overlong>|12345678<overlong>|x\0y|half<unterminated>|"s;
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(split(std::string_view(text).substr(0, cut), std::string_view(text).substr(cut), 8), expected) << cut;
  }
}

TEST(LineSplitter, HoldsNoMoreThanALineMayHave) {
  LineSplitter splitter(10);
  for (int i = 0; i < 1000; ++i) splitter.feed(std::string(1000, 'x'));
  const auto line = splitter.finish();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->overlong);
  EXPECT_EQ(line->text, std::string(10, 'x'));
}

asio::awaitable<void> read_lines(asio::any_io_executor loop, std::string text, std::size_t chunk,
                                 std::vector<std::string>& out) {
  MemoryStreamOptions options;
  options.read_chunk = chunk;
  MemoryStreamPair pair = make_memory_streams(loop, options);
  const Status written = co_await pair.first->write_all(text, soon());
  EXPECT_TRUE(written);
  const Status ended = co_await pair.first->shutdown_write(soon());
  EXPECT_TRUE(ended);
  LineReader reader(*pair.second, 6);
  for (int i = 0; i < 10; ++i) {
    const auto line = co_await reader.next(soon());
    if (!line) {
      out.push_back("error: " + std::string(to_string(line.error().code)));
    } else if (*line) {
      out.push_back(**line);
    } else {
      out.emplace_back("end");
      break;
    }
  }
}

TEST(LineReader, GoesOnAfterAnOverlongLineAndTellsAHalfLine) {
  Loop loop;
  for (const std::size_t chunk : {1UL, 2UL, 3UL, 100UL}) {
    std::vector<std::string> lines;
    loop.run(read_lines(loop.executor(), "one\r\nmuch too long\ntwo\nha", chunk, lines));
    EXPECT_EQ(lines, (std::vector<std::string>{"one", "error: " + std::string(to_string(ErrorCode::limit)), "two",
                                               "error: " + std::string(to_string(ErrorCode::protocol)), "end"}));
  }
}

asio::awaitable<void> time_out(asio::any_io_executor loop) {
  MemoryStreamPair pair = make_memory_streams(loop);
  LineReader reader(*pair.second, 100);
  const Status half = co_await pair.first->write_all("ab", soon());
  EXPECT_TRUE(half);
  const auto nothing = co_await reader.next(Deadline::after(std::chrono::milliseconds(1)));
  EXPECT_TRUE(!nothing && nothing.error().code == ErrorCode::timeout);
  const Status rest = co_await write_line(*pair.first, "cd", soon());
  EXPECT_TRUE(rest);
  const auto line = co_await reader.next(soon());
  EXPECT_TRUE(line && *line && **line == "abcd");
  const Status refused = co_await write_line(*pair.first, "a\nb", soon());
  EXPECT_TRUE(!refused && refused.error().code == ErrorCode::invalid);
}

TEST(LineReader, LosesNothingByATimeout) {
  Loop loop;
  loop.run(time_out(loop.executor()));
}

}  // namespace
}  // namespace sallyport::gateway
