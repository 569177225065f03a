// A real HTTP server of the fixtures, as a child with a port of its own.
#pragma once

#include <filesystem>

#include "gateway/net/http_client.hpp"
#include "gateway/servers/child_process.hpp"
#include "tests/component/servers/support.hpp"

namespace sallyport::gateway {

class HttpServersTest : public ServersTest {
 protected:
  HttpServersTest();
  ~HttpServersTest() override;

  // Starts a server; its URL is url_.
  void serve(std::vector<std::string> flags = {}, const std::string& script = "http_server.py");
  // The era is legacy, unless a test is about eras.
  [[nodiscard]] ServerSettings http() const;
  // Every request the server was given, as JSON.
  [[nodiscard]] std::string log();
  [[nodiscard]] std::size_t count(const std::string& method);
  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }
  void write(const std::string& name, const std::string& text) const;

  std::string url_;
  std::filesystem::path folder_;
  std::unique_ptr<servers::ChildProcess> server_;
};

}  // namespace sallyport::gateway
