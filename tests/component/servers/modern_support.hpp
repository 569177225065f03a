// Servers of the modern era, over both transports.
#pragma once

#include "tests/component/servers/http_support.hpp"

namespace sallyport::gateway {

class ModernServersTest : public HttpServersTest {
 protected:
  static constexpr const char* kScript = "modern_server.py";
  [[nodiscard]] ServerSettings modern_http(std::vector<std::string> flags = {}, const std::string& era = "modern") {
    serve(std::move(flags), kScript);
    ServerSettings server = http();
    server.era = era;
    return server;
  }
  [[nodiscard]] static ServerSettings modern_stdio(std::vector<std::string> flags = {},
                                                   const std::string& era = "modern") {
    ServerSettings server = fixture();
    server.args = {"-u", std::string(SALLYPORT_SOURCE_DIR "/tests/fixtures/servers/") + kScript, "--stdio"};
    server.args.insert(server.args.end(), flags.begin(), flags.end());
    server.era = era;
    return server;
  }
  [[nodiscard]] static json::Document parsed(const std::string& text) {
    auto document = json::Document::parse(text);
    EXPECT_TRUE(document.has_value()) << text;
    return document ? std::move(*document) : std::move(*json::Document::parse("null"));
  }
  // Until the server has noted that somebody went away.
  void wait_gone(const std::string& name) {
    spin([&] {
      const json::Document all = parsed(log());
      for (const json::Value entry : all.root().elements()) {
        if (entry.find("method").equals("gone") && entry.find("name").equals(name)) return true;
      }
      return false;
    });
  }
  ServerAnswer relay(ServerLink& link, const std::string& method, const std::string& params = {}) {
    return run(link.relay(method, params, within()));
  }
};

}  // namespace sallyport::gateway
