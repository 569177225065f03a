// What comes over the network, in any pieces: the same bytes must give the same messages however they are cut. The
// first byte chooses the parser, the second the size of the pieces.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/log.hpp"
#include "gateway/net/http_codec.hpp"
#include "gateway/net/http_server.hpp"
#include "gateway/net/lines.hpp"
#include "gateway/net/memory_stream.hpp"
#include "gateway/net/sse.hpp"
#include "gateway/net/url.hpp"

namespace {

using namespace sallyport;
using namespace sallyport::gateway;

void require(bool truth) {
  if (!truth) std::abort();
}

template <class Use>
void in_pieces(std::string_view bytes, std::size_t piece, Use use) {
  while (!bytes.empty()) {
    use(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
}

std::string events(std::string_view bytes, std::size_t piece) {
  SseReader reader(200);
  std::vector<SseEvent> seen;
  bool failed = false;
  in_pieces(bytes, piece, [&](std::string_view part) { failed = failed || !reader.feed(part, seen); });
  std::string out;
  for (const SseEvent& event : seen) {
    require(event.data.size() <= 200);
    out += event.event + '\1' + event.id.value_or("-") + '\1' + event.data + '\2';
  }
  return failed ? out + "failed" : out + reader.last_event_id();
}

std::string lines(std::string_view bytes, std::size_t piece) {
  LineSplitter splitter(20);
  std::string out;
  const auto add = [&](const LineSplitter::Line& line) {
    require(line.text.size() <= 20);
    out += line.text + (line.overlong ? "\1" : "\2") + (line.unterminated ? "\3" : "\4");
  };
  in_pieces(bytes, piece, [&](std::string_view part) {
    splitter.feed(part);
    while (auto line = splitter.next()) add(*line);
  });
  if (auto line = splitter.finish()) add(*line);
  return out;
}

// An answer as the client reads it.
std::string answer(std::string_view bytes, std::size_t piece) {
  std::size_t from = 0;
  const std::size_t end = find_head_end(bytes, from);
  if (end == std::string_view::npos) return "no head";
  std::string head(bytes.substr(0, end));
  if (check_response_head(head)) return "refused";
  HttpMessageReader reader(HttpMessageReader::Kind::response, 64U << 10, UINT64_MAX);
  if (reader.put(head)) return "refused by the parser";
  std::string buffer;
  bool failed = false;
  in_pieces(bytes.substr(end), piece, [&](std::string_view part) {
    buffer += part;
    failed = failed || reader.put(buffer).has_value();
  });
  // How soon a fault is seen may depend on the pieces; whether there is one may not.
  if (failed || reader.put_end()) return "not whole";
  return std::to_string(reader.status()) + reader.body();
}

// The requests that the server hands to its handler.
std::string requests(std::string_view bytes, std::size_t piece) {
  asio::io_context context;
  std::string out;
  HttpLimits limits;
  limits.header_bytes = 1000;
  limits.target_bytes = 200;
  limits.body_bytes = 500;
  const HttpServer::Handler handler = [&](HttpRequest request, HttpExchange& exchange) -> asio::awaitable<void> {
    require(request.body.size() <= 500 && request.target.starts_with('/'));
    require(request.method != "GET" || request.body.empty());
    require(request.headers.count("Host") == 1 || request.http_1_0);
    out += request.method + '\1' + request.target + '\1' + request.body + '\2';
    exchange.on_disconnect([] {});
    HttpResponse response;
    const Status sent = co_await exchange.respond(std::move(response));
    require(sent.has_value());
  };
  HttpServer server(context.get_executor(), "fuzz", limits, handler);
  MemoryStreamOptions options;
  options.read_chunk = piece;
  options.capacity = 1U << 20;
  MemoryStreamPair pair = make_memory_streams(context.get_executor(), options);
  server.accept(std::move(pair.second));
  const std::string text(bytes);
  const auto client = [&]() -> asio::awaitable<void> {
    Status written = co_await pair.first->write_all(text, Deadline::never());
    if (written) written = co_await pair.first->shutdown_write(Deadline::never());
    std::vector<char> chunk(4096);
    for (;;) {
      const Result<std::size_t> got = co_await pair.first->read_some(chunk, Deadline::never());
      if (!got || *got == 0) break;
    }
    pair.first->close();
  };
  asio::co_spawn(context, client(), [](const std::exception_ptr& error) { require(!error); });
  context.run_for(std::chrono::seconds(5));
  require(server.connections() == 0);
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* /*count*/, char*** /*arguments*/) {
  log::configure(log::Level::off, log::Format::text);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 8000) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::size_t piece = 1 + data[1] % 64;
  switch (data[0] % 5) {
    case 0:
      require(events(bytes, SIZE_MAX) == events(bytes, piece));
      break;
    case 1:
      require(lines(bytes, SIZE_MAX) == lines(bytes, piece));
      break;
    case 2:
      require(answer(bytes, SIZE_MAX) == answer(bytes, piece));
      break;
    case 3:
      require(requests(bytes, SIZE_MAX) == requests(bytes, piece));
      break;
    case 4:
      if (const Result<Url> url = parse_url(bytes)) require(parse_url(url->text()).has_value());
      break;
    default:
      break;
  }
  return 0;
}
