#include "schemas/core/writer.hpp"

#include <gtest/gtest.h>

#include "schemas/core/canonical.hpp"

namespace sallyport::json {
namespace {

TEST(Writer, PutsCommasWhereTheyBelong) {
  Writer writer;
  writer.begin_object()
      .member("a", "x")
      .key("b")
      .begin_array()
      .value(std::uint64_t{1})
      .value(true)
      .begin_array()
      .end_array();
  writer.begin_object().end_object().raw("1.50").end_array().key("c").begin_object().member("d", false).end_object();
  writer.member("e", std::uint64_t{18446744073709551615U}).end_object();
  EXPECT_EQ(writer.text(), R"({"a":"x","b":[1,true,[],{},1.50],"c":{"d":false},"e":18446744073709551615})");
  EXPECT_TRUE(Document::parse(writer.take()));
}

TEST(Writer, LeavesOutWhatIsEmpty) {
  const std::vector<std::string> items{"p", "q"};
  Writer writer;
  writer.begin_object().text("none", "").list("empty", {}).text("some", "s").list("items", items).end_object();
  EXPECT_EQ(writer.text(), R"({"some":"s","items":["p","q"]})");
}

TEST(Writer, EscapesAsTheCanonicalFormDoes) {
  using namespace std::string_literals;
  Writer writer;
  writer.begin_object().member("a\"\\\n", "é\0\x7F\xFF"s).end_object();
  const auto document = Document::parse(writer.text());
  ASSERT_TRUE(document) << writer.text();
  EXPECT_EQ(canonical(document->root()), writer.text());
  EXPECT_EQ(document->root().find("a\"\\\n").string(), "é\0\x7F\xEF\xBF\xBD"s);
}

}  // namespace
}  // namespace sallyport::json
