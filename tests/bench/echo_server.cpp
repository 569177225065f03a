// The server behind every target of the benchmark: MCP over streamable HTTP, as fast as gateway/net allows. Two tools,
// `look` and `note`, that send their text back. Prints its port on a line and runs until SIGTERM.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <cstdio>
#include <string>

#include "gateway/net/http_server.hpp"
#include "gateway/net/listener.hpp"
#include "schemas/core/json.hpp"

namespace {

using namespace sallyport;
using namespace sallyport::gateway;

constexpr std::string_view kInitialized =
    R"({"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}})";
constexpr std::string_view kInputSchema =
    R"({"type":"object","properties":{"text":{"type":"string","maxLength":2000},"number":{"type":"integer","minimum":0},)"
    R"("tags":{"type":"array","items":{"enum":["a","b","c"]},"maxItems":8}},"required":["text","number"],"additionalProperties":false})";

std::string tool(std::string_view name, bool reads) {
  return fmt::format(
      R"({{"name":"{}","description":"Sends the text back.","inputSchema":{},"annotations":{{"readOnlyHint":{}}}}})",
      name, kInputSchema, reads);
}

std::string result_of(const json::Value& message) {
  const json::Value method = message.find("method");
  if (method.equals("initialize")) return std::string(kInitialized);
  if (method.equals("tools/list"))
    return fmt::format(R"({{"tools":[{},{}]}})", tool("look", true), tool("note", false));
  if (method.equals("tools/call")) {
    const std::string_view text = message.find("params").find("arguments").find("text").raw();
    return fmt::format(R"({{"content":[{{"type":"text","text":{}}}]}})", text);
  }
  return "{}";
}

HttpResponse answer(const HttpRequest& request) {
  HttpResponse response;
  if (request.method != "POST") {
    response.status = 405;
    return response;
  }
  const auto document = json::Document::parse(request.body);
  if (!document) {
    response.status = 400;
    return response;
  }
  const json::Value id = document->root().find("id");
  if (!id) {
    response.status = 202;
    return response;
  }
  response.headers.set("Content-Type", "application/json");
  response.body = fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id.raw(), result_of(document->root()));
  return response;
}

asio::awaitable<void> handle(HttpRequest request, HttpExchange& exchange) {
  HttpResponse response = answer(request);
  const Status sent = co_await exchange.respond(std::move(response));
  static_cast<void>(sent);  // a client that left
}

}  // namespace

int main() {
  asio::io_context io{1};
  HttpServer server(io.get_executor(), "echo", HttpLimits{}, handle);
  auto listener = Listener::tcp(io.get_executor(), "127.0.0.1", 0);
  if (!listener) {
    std::fprintf(stderr, "echo_server: %s\n", listener.error().message.c_str());
    return 1;
  }
  (*listener)->start([&](std::unique_ptr<ByteStream> stream) { server.accept(std::move(stream)); });
  std::printf("%u\n", static_cast<unsigned>((*listener)->bound_port()));
  std::fflush(stdout);
  asio::signal_set ending(io, SIGTERM, SIGINT);
  ending.async_wait([&](const boost::system::error_code&, int) { io.stop(); });
  io.run();
  return 0;
}
