#include "policy/conditions/places.hpp"

#include <gtest/gtest.h>

namespace sallyport::policy {
namespace {

bool within(std::string_view path, std::string_view folder) {
  const auto components = path_components(path);
  return components && is_within(*components, path_components(folder).value());
}

TEST(Path, ComparesWholeComponents) {
  EXPECT_TRUE(within("/home/me/project/a", "/home/me/project"));
  EXPECT_TRUE(within("/home/me/project", "/home/me/project"));
  EXPECT_TRUE(within("/home/me//project/./a/", "/home/me/project/"));
  EXPECT_TRUE(within("/anything", "/"));
  EXPECT_FALSE(within("/home/me/project2/a", "/home/me/project"));
  EXPECT_FALSE(within("/home/me", "/home/me/project"));
  EXPECT_FALSE(within("/HOME/me/project/a", "/home/me/project"));
}

TEST(Path, CannotBeReadWhereReadersMightDiffer) {
  using std::string_view_literals::operator""sv;
  for (const std::string_view odd : {"a/b"sv, ""sv, "./a"sv, "/a/../b"sv, "/a/.."sv, "/a/.. /b"sv, "/a/..\t"sv,
                                     "/a\0b"sv, "/a\\b"sv, "~/a"sv, "/~me/a"sv, "/a%2e%2e/b"sv, "file:///a"sv,
                                     "\\\\host\\a"sv, "/a/\u2025/b"sv, "/a\uff0fb"sv, "/a/\uff0e\uff0e/b"sv}) {
    EXPECT_FALSE(path_components(odd)) << odd;
  }
  EXPECT_TRUE(path_components("/a/..b/c..d/.env"));
  EXPECT_TRUE(path_components("/a/\u00fcber/\u6570"));
}

TEST(Url, IsReadOnlyWhereEveryReaderAgrees) {
  const auto host = [](std::string_view url) {
    const auto found = url_host(url);
    return found ? found->host + ":" + std::to_string(*found->port) : "";
  };
  EXPECT_EQ(host("https://api.example.com/x"), "api.example.com:443");
  EXPECT_EQ(host("HTTPS://API.Example.com"), "api.example.com:443");
  EXPECT_EQ(host("http://localhost:8080/a?b#c"), "localhost:8080");
  EXPECT_EQ(host("http://10.0.0.1/"), "10.0.0.1:80");
  EXPECT_EQ(host("http://[0:0:0:0:0:0:0:1]/"), "[::1]:80");
  for (const std::string_view odd : {"https://good.example@evil.example/",
                                     "https://good.example\\@evil.example/",
                                     "https:/evil.example/",
                                     "https:evil.example",
                                     "//evil.example/",
                                     "https://evil.example\t/",
                                     " https://evil.example/",
                                     "https://ev%69l.example/",
                                     "https://evil.example:/",
                                     "https://evil.example:0443/",
                                     "https://0x7f.1/",
                                     "http://127.1/",
                                     "http://2130706433/",
                                     "http://010.0.0.1/",
                                     "http://1.2.3.4.5/",
                                     "https://evil.example./",
                                     "https://.evil/",
                                     "https://\u00e9vil.example/",
                                     "ftp://evil.example/",
                                     "javascript:alert(1)",
                                     "data:text/plain,x",
                                     "https://[::1%25eth0]/",
                                     "https:///evil.example",
                                     "https://a.example:99999/",
                                     "https://a..b/"}) {
    EXPECT_EQ(host(odd), "") << odd;
  }
}

}  // namespace
}  // namespace sallyport::policy
