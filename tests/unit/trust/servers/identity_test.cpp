#include "trust/servers/identity.hpp"

#include "tests/unit/trust/helpers.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::trust {
namespace {

using test::doc;
using Kind = Identity::Kind;

Identity http(std::string url, std::string certificate = {}) {
  Identity out;
  out.kind = Kind::http;
  out.url = std::move(url);
  out.certificate = std::move(certificate);
  return out;
}

Identity package(std::string version, std::string integrity) {
  Identity out;
  out.kind = Kind::package;
  out.runner = "npx";
  out.package = "@scope/server";
  out.version = std::move(version);
  out.integrity = std::move(integrity);
  return out;
}

Identity command(std::string path, std::string digest) {
  Identity out;
  out.kind = Kind::command;
  out.command = std::move(path);
  out.digest = std::move(digest);
  return out;
}

TEST(Identity, IsCanonicalAndComesBack) {
  auto keyed = http("https://a.example/mcp");
  keyed.spki = {digest_text("b"), digest_text("a")};
  EXPECT_EQ(canonical(http("https://a.example/mcp", "a.example")),
            R"({"certificate":"a.example","kind":"http","url":"https://a.example/mcp"})");
  EXPECT_EQ(canonical(package("1.2.3", "sha512-x")),
            R"({"integrity":"sha512-x","kind":"package","package":"@scope/server","runner":"npx","version":"1.2.3"})");
  for (const auto& identity : {http("https://a.example/mcp", "a.example"), keyed, package("1.2.3", "sha512-x"),
                               command("/usr/bin/x", digest_text("x"))}) {
    const auto text = canonical(identity);
    const auto document = doc(text);
    const auto back = parse_identity(document.root());
    ASSERT_TRUE(back) << text;
    EXPECT_EQ(canonical(*back), text);
    EXPECT_EQ(digest(*back), tagged_digest(kIdentityTag, text));
  }
}

TEST(Identity, RefusesOtherForms) {
  for (const auto* text :
       {"1", "{}", R"({"kind":"magic"})", R"({"kind":"http"})", R"({"kind":"http","url":""})",
        R"({"kind":"http","url":"x","command":"y"})", R"({"kind":"command","command":"x","digest":"md5:1"})",
        R"({"kind":"http","url":"x","spki":[]})", R"({"kind":"http","url":"x","spki":["1"]})",
        R"({"kind":"command","command":"x","spki":["1"]})"}) {
    const auto document = doc(text);
    EXPECT_FALSE(parse_identity(document.root())) << text;
  }
}

TEST(Identity, MatchesOnlyWhatWasAccepted) {
  const auto locked = http("https://a.example/mcp", "a.example");
  EXPECT_FALSE(mismatch(locked, locked));
  EXPECT_TRUE(mismatch(http("https://a.example/other", "a.example"), locked));
  EXPECT_EQ(mismatch(http("https://a.example/mcp", "b.example"), locked),
            "its certificate was accepted as `a.example`, found as `b.example`");
  EXPECT_TRUE(mismatch(command("https://a.example/mcp", ""), locked));
  EXPECT_TRUE(mismatch(package("1.2.4", "sha512-x"), package("1.2.3", "sha512-x")));
  EXPECT_TRUE(mismatch(package("1.2.3", "sha512-y"), package("1.2.3", "sha512-x")));
  EXPECT_TRUE(mismatch(package("1.2.3", ""), package("1.2.3", "sha512-x")));
  EXPECT_TRUE(mismatch(command("/bin/x", digest_text("new")), command("/bin/x", digest_text("old"))));
}

TEST(Identity, WantsOneKeyInCommonWhereKeysWereAskedFor) {
  auto locked = http("https://a.example/mcp", "a.example");
  locked.spki = {digest_text("old"), digest_text("new")};
  auto found = http("https://a.example/mcp", "renamed.example");
  EXPECT_TRUE(mismatch(found, locked));
  found.spki = {digest_text("new")};
  EXPECT_FALSE(mismatch(found, locked));
  found.spki = {digest_text("other")};
  EXPECT_TRUE(mismatch(found, locked));
}

TEST(Identity, KeepsTheKeysOfBeforeForAChangeOfKeys) {
  auto locked = http("https://a.example/mcp", "a.example");
  locked.spki = {digest_text("old")};
  auto found = locked;
  found.spki = {digest_text("new")};
  const Identity both = with_keys(found, locked);
  EXPECT_EQ(both.spki, (std::vector{digest_text("new"), digest_text("old")}));
  EXPECT_FALSE(mismatch(found, both));
  EXPECT_FALSE(mismatch(locked, both));
  EXPECT_EQ(with_keys(both, locked), both) << "a key stands there once";
  found.url = "https://b.example/mcp";
  EXPECT_EQ(with_keys(found, locked), found) << "another place is another server";
  EXPECT_EQ(with_keys(command("/bin/x", ""), locked), command("/bin/x", ""));
}

TEST(Identity, SaysWhatIsNotTiedDown) {
  EXPECT_FALSE(unpinned(package("2026.8.31", "sha512-x")));
  EXPECT_TRUE(unpinned(package("latest", "sha512-x")));
  EXPECT_TRUE(unpinned(package("", "sha512-x")));
  EXPECT_TRUE(unpinned(package("^1.2.3", "sha512-x")));
  EXPECT_TRUE(unpinned(package("1", "sha512-x")));
  EXPECT_TRUE(unpinned(package("1.2.3", "")));
  EXPECT_FALSE(unpinned(http("https://a.example/", "a.example")));
  EXPECT_FALSE(unpinned(http("http://127.0.0.1:80/mcp")));
  EXPECT_TRUE(unpinned(http("http://127.0.0.1.evil.example/mcp")));
  EXPECT_TRUE(unpinned(http("http://a.example/mcp")));
  EXPECT_TRUE(unpinned(command("/bin/x", "")));
  const std::string some = "sha256:" + std::string(64, 'a');
  EXPECT_FALSE(unpinned(command("/bin/x", some)));
  for (const std::string wrapper : {"/usr/bin/env", "/bin/sh", "/usr/bin/python3.11", "node", "/usr/bin/uv", "sudo"})
    EXPECT_TRUE(unpinned(command(wrapper, some))) << wrapper;
  Identity scripted = command("/usr/bin/env", some);
  scripted.script = "/opt/server.py";
  EXPECT_FALSE(unpinned(scripted));
  EXPECT_EQ(describe(package("1.2.3", "sha512-x")), "npx @scope/server@1.2.3 (integrity sha512-x)");
}

}  // namespace
}  // namespace sallyport::trust
