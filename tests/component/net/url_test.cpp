#include "gateway/net/url.hpp"

#include <gtest/gtest.h>

namespace sallyport::gateway {
namespace {

TEST(Url, IsTakenApart) {
  struct Case {
    const char* text;
    const char* host;
    int port;
    const char* target;
    const char* origin;
  };
  const Case cases[] = {
      {"http://Example.COM", "example.com", 80, "/", "http://example.com"},
      {"https://example.com./mcp?x=%20", "example.com", 443, "/mcp?x=%20", "https://example.com"},
      {"https://example.com:8443/a/b", "example.com", 8443, "/a/b", "https://example.com:8443"},
      {"HTTP://[::1]:8080?q", "::1", 8080, "/?q", "http://[::1]:8080"},
      {"http://127.0.0.1:80/x", "127.0.0.1", 80, "/x", "http://127.0.0.1"},
  };
  for (const Case& c : cases) {
    const Result<Url> url = parse_url(c.text);
    ASSERT_TRUE(url) << c.text;
    EXPECT_EQ(url->host, c.host);
    EXPECT_EQ(url->port, c.port);
    EXPECT_EQ(url->target, c.target);
    EXPECT_EQ(url->origin(), c.origin);
  }
  const Result<Url> socket = parse_url("unix:/run/x.sock");
  ASSERT_TRUE(socket);
  EXPECT_EQ(socket->socket_path, "/run/x.sock");
  EXPECT_EQ(socket->host_header(), "localhost");
  EXPECT_EQ(socket->text(), "unix:/run/x.sock");
}

TEST(Url, IsRefusedWhenOthersCouldReadItDifferently) {
  for (const char* text :
       {"", "example.com", "ftp://example.com", "http://", "http:///x", "http://user:secret@example.com/",
        "http://example.com/#part", "http://example.com:0/", "http://example.com:99999/", "http://exa mple.com/",
        "http://exam%70le.com/", "http://[::1", "http://[fe80::1%25eth0]/", "unix:", "unix:relative", "http://a\\b/",
        "http://example.com/a b", "http://ex\xC3\xA4mple.com/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
  }
}

TEST(Url, ErrorsDoNotRepeatACredential) {
  const Result<Url> url = parse_url("http://user:secret@example.com/");
  ASSERT_FALSE(url);
  EXPECT_EQ(url.error().message.find("secret"), std::string::npos);
}

TEST(Url, KnowsLoopback) {
  for (const char* host :
       {"localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"}) {
    EXPECT_TRUE(is_loopback(host)) << host;
  }
  for (const char* host :
       {"localhost.evil.example", "128.0.0.1", "0.0.0.0", "::", "example.com", "127.0.0.1.nip.io", ""}) {
    EXPECT_FALSE(is_loopback(host)) << host;
  }
}

}  // namespace
}  // namespace sallyport::gateway
