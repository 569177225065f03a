#include "tests/component/servers/http_support.hpp"

#include <fstream>

#include "gateway/net/lines.hpp"
#include "gateway/servers/environment.hpp"

namespace sallyport::gateway {
namespace {

asio::awaitable<std::string> first_line(ByteStream& stream) {
  LineReader reader(stream, 1000);
  const auto line = co_await reader.next(Deadline::after(std::chrono::seconds(20)));
  const bool good = line.has_value() && line->has_value();
  co_return good ? **line : std::string();
}

asio::awaitable<std::string> get(asio::any_io_executor loop, Url url) {
  HttpClient client(loop);
  HttpClientRequest request;
  request.method = "GET";
  request.url = std::move(url);
  auto response = co_await client.send(std::move(request), Deadline::after(std::chrono::seconds(10)));
  if (!response) co_return response.error().message;
  const auto body = co_await response->read_all(10U << 20, Deadline::after(std::chrono::seconds(10)));
  co_return body.value_or("no body");
}

}  // namespace

HttpServersTest::HttpServersTest() {
  folder_ = std::filesystem::temp_directory_path() / ("sallyport-http-" + system_entropy().token(9));
  std::filesystem::create_directory(folder_);
  options_.stream_retry_first = Millis(20);
}

HttpServersTest::~HttpServersTest() {
  if (pool_) shutdown();
  server_.reset();
  std::filesystem::remove_all(folder_);
}

void HttpServersTest::serve(std::vector<std::string> flags, const std::string& script) {
  servers::ChildSpec spec;
  spec.environment = servers::child_environment(servers::allowed_environment(), {});
  const auto program = servers::resolve_command("python3", spec.environment, {});
  ASSERT_TRUE(program.has_value());
  spec.program = *program;
  spec.arguments = {"python3", SALLYPORT_SOURCE_DIR "/tests/fixtures/servers/" + script};
  const bool tls = std::ranges::any_of(flags, [](const std::string& f) { return f.starts_with("--certificate"); });
  spec.arguments.insert(spec.arguments.end(), flags.begin(), flags.end());
  auto child = servers::ChildProcess::spawn(io_.get_executor(), spec);
  ASSERT_TRUE(child.has_value()) << child.error().message;
  server_ = std::move(*child);
  const std::string port = run(first_line(server_->out()));
  ASSERT_FALSE(port.empty());
  url_ = (tls ? "https://localhost:" : "http://127.0.0.1:") + port + "/mcp";
}

ServerSettings HttpServersTest::http() const {
  ServerSettings server;
  server.id = "s";
  server.transport = ServerSettings::Transport::http;
  server.url = url_;
  server.era = "legacy";
  server.start_timeout = Millis(20'000);
  return server;
}

std::string HttpServersTest::log() {
  auto url = parse_url(url_);
  EXPECT_TRUE(url.has_value());
  url->target = "/log";
  return run(get(io_.get_executor(), std::move(*url)));
}

std::size_t HttpServersTest::count(const std::string& method) {
  const auto document = json::Document::parse(log());
  EXPECT_TRUE(document.has_value());
  std::size_t found = 0;
  for (const json::Value entry : document->root().elements()) {
    const bool same = entry.find("method").equals(method) || entry.find("verb").equals(method);
    found += same ? 1 : 0;
  }
  return found;
}

void HttpServersTest::write(const std::string& name, const std::string& text) const {
  std::ofstream out(file(name));
  out << text;
}

}  // namespace sallyport::gateway
