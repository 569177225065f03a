#include <cstdlib>

#include "tests/component/servers/http_support.hpp"

namespace sallyport::gateway {
namespace {

class HttpTlsTest : public HttpServersTest {
 protected:
  void SetUp() override {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=DNS:localhost -keyout " +
        file("key.pem") + " -out " + file("certificate.pem") + " 2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);  // NOLINT: before any thread
    serve({"--certificate=" + file("certificate.pem"), "--key=" + file("key.pem")});
  }
};

TEST_F(HttpTlsTest, TheCertificateIsVerified) {
  make_pool(http());
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().retry, RetryClass::not_sent);
  EXPECT_NE(made.error().message.find("certificate"), std::string::npos) << made.error().message;
}

TEST_F(HttpTlsTest, TheIdentityHoldsTheNameAndTheKeyWhereItIsAskedFor) {
  ServerSettings settings = http();
  settings.ca_file = file("certificate.pem");
  make_pool(settings);
  const auto server = link();
  ASSERT_TRUE(server);
  EXPECT_EQ(call(*server, "json").kind, ServerAnswer::Kind::result);
  EXPECT_EQ(link()->identity(), R"({"certificate":"localhost","kind":"http","url":")" + url_ + R"("})");
  shutdown();
  settings.spki = true;
  make_pool(settings);
  ASSERT_TRUE(link());
  EXPECT_NE(link()->identity().find(R"("spki":["sha256:)"), std::string::npos) << link()->identity();
}

TEST_F(HttpTlsTest, AMissingCaFileIsNamed) {
  ServerSettings settings = http();
  settings.ca_file = file("missing.pem");
  make_pool(settings);
  const auto made = try_link("s");
  ASSERT_FALSE(made.has_value());
  EXPECT_NE(made.error().message.find("missing.pem"), std::string::npos) << made.error().message;
}

}  // namespace
}  // namespace sallyport::gateway
