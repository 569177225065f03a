// Random documents against a second parser, and what must hold of every accepted text.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <random>

#include "schemas/core/canonical.hpp"

namespace sallyport::json {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  std::string document() {
    std::string out;
    value(out, 5);
    return out;
  }

  // A few bytes changed, left out, doubled or moved: mostly no JSON any more, sometimes other JSON.
  std::string spoil(std::string text) {
    static constexpr std::string_view kBytes = "{}[]\",:0e.-+\\u/ntd8 \n\x80\xC3\xED\xFF\x01";
    for (std::size_t i = 0, changes = 1 + pick(3); i < changes && !text.empty(); ++i) {
      const std::size_t at = pick(text.size());
      switch (pick(3)) {
        case 0:
          text[at] = kBytes[pick(kBytes.size())];
          break;
        case 1:
          text.erase(at, 1);
          break;
        default:
          text.insert(at, 1, kBytes[pick(kBytes.size())]);
          break;
      }
    }
    return text;
  }

 private:
  std::size_t pick(std::size_t below) { return random_() % below; }
  void space(std::string& out) { out += std::array{"", "", "", " ", "\n", "\t "}[pick(6)]; }

  void string(std::string& out) {
    static constexpr const char* kParts[] = {
        "a", "B", "long plain text", "\\n", "\\u0041", "\\ud83d\\ude00", "é", "漢", "😀", "\\\"", "\\\\", "/", "\\/"};
    out += '"';
    for (std::size_t i = pick(5); i > 0; --i) out += kParts[pick(std::size(kParts))];
    out += '"';
  }

  void number(std::string& out) {
    static constexpr const char* kNumbers[] = {
        "0", "-0", "1", "-17", "1.5", "2e3", "-2.50E-3", "123456789012345678", "0.1", "1e30", "9007199254740993"};
    out += kNumbers[pick(std::size(kNumbers))];
  }

  void value(std::string& out, int depth) {
    space(out);
    switch (pick(depth > 0 ? 8 : 5)) {
      case 0:
        out += "null";
        break;
      case 1:
        out += pick(2) == 0 ? "true" : "false";
        break;
      case 2:
        number(out);
        break;
      case 3:
      case 4:
        string(out);
        break;
      default:
        container(out, depth, pick(2) == 0);
        break;
    }
    space(out);
  }

  void container(std::string& out, int depth, bool object) {
    out += object ? '{' : '[';
    for (std::size_t i = 0, size = pick(6); i < size; ++i) {
      if (i > 0) out += ',';
      if (object) {
        space(out);
        string(out);
        space(out);
        out += ':';
      }
      value(out, depth - 1);
    }
    if (out.back() == '[' || out.back() == '{') space(out);
    out += object ? '}' : ']';
  }

  std::mt19937 random_;
};

// Our tree as theirs; equal names: the last, as theirs does.
boost::json::value convert(Value value) {
  switch (value.kind()) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return value.boolean();
    case Kind::number:
      return value.real();
    case Kind::string:
      return boost::json::string(value.string());
    case Kind::array: {
      boost::json::array array;
      for (const Value element : value.elements()) array.push_back(convert(element));
      return array;
    }
    case Kind::object: {
      boost::json::object object;
      for (const auto member : value.members()) object[member.name()] = convert(member.value);
      return object;
    }
  }
  return nullptr;
}

boost::json::value doubles(boost::json::value value) {
  if (value.is_int64()) return static_cast<double>(value.get_int64());
  if (value.is_uint64()) return static_cast<double>(value.get_uint64());
  if (value.is_array()) {
    for (auto& element : value.get_array()) element = doubles(element);
  }
  if (value.is_object()) {
    for (auto& member : value.get_object()) member.value() = doubles(member.value());
  }
  return value;
}

// Doubles of the other parser may be off by their last bit.
bool close(const boost::json::value& a, const boost::json::value& b) {
  if (a.is_double() && b.is_double())
    return std::abs(a.get_double() - b.get_double()) <= 1e-14 * std::abs(a.get_double());
  if (a.kind() != b.kind()) return false;
  if (a.is_array()) {
    return std::equal(a.get_array().begin(), a.get_array().end(), b.get_array().begin(), b.get_array().end(), close);
  }
  if (!a.is_object()) return a == b;
  if (a.get_object().size() != b.get_object().size()) return false;
  for (const auto& member : a.get_object()) {
    const auto* other = b.get_object().if_contains(member.key());
    if (other == nullptr || !close(member.value(), *other)) return false;
  }
  return true;
}

void check_invariants(const Document& document) {
  const Value root = document.root();
  const auto form = canonical(root);
  const auto again = Document::parse(form);
  ASSERT_TRUE(again) << form;
  EXPECT_EQ(canonical(again->root()), form);
  const auto neat = Document::parse(pretty(root));
  ASSERT_TRUE(neat);
  EXPECT_TRUE(same(root, neat->root()));
  EXPECT_EQ(canonical(neat->root()), form);
  EXPECT_TRUE(same(root, again->root()));
  EXPECT_EQ(root.ambiguity().has_value(), again->root().ambiguity().has_value());
  for (std::uint32_t i = 0; i < document.node_count(); ++i) {
    const Value node = document.node(i);
    const auto slice = Document::parse(std::string(node.raw()));
    ASSERT_TRUE(slice);
    EXPECT_EQ(slice->node_count(), node.next_index() - node.index());
    if (!root.ambiguity() && document.root().at(node.pointer()).index() != i) {
      EXPECT_EQ(document.root().at(node.pointer()).index(), i + 1);  // a key has its member's pointer
    }
  }
}

TEST(JsonCross, RandomDocumentsAreReadAsAnotherParserReadsThem) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    const auto text = Generator(seed).document();
    const auto document = Document::parse(text);
    ASSERT_TRUE(document) << text << ": " << document.error().message;
    EXPECT_TRUE(close(convert(document->root()), doubles(boost::json::parse(text)))) << text;
    if (text.size() < 300) check_invariants(*document);
  }
}

TEST(JsonCross, SpoiltDocumentsAreAcceptedByBothOrByNeither) {
  int accepted = 0;
  int refused = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    Generator generator(seed);
    const auto text = generator.spoil(generator.document());
    boost::json::error_code error;
    const auto theirs = boost::json::parse(text, error);
    if (error == boost::json::error::exponent_overflow) continue;  // valid JSON, past what they read
    const auto ours = Document::parse(text);
    EXPECT_EQ(ours.has_value(), !error) << text << "\n" << (ours ? "accepted" : ours.error().message);
    ++(ours ? accepted : refused);
    if (ours && !error) {
      EXPECT_TRUE(ours->root().ambiguity() || close(convert(ours->root()), doubles(theirs))) << text;
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace sallyport::json
