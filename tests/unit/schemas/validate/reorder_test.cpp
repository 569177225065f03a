// JSON objects have no order: the same members in another one, in schema or instance, are judged the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "tests/unit/schemas/validate/compiled.hpp"
#include "tests/unit/schemas/validate/suite.hpp"

namespace sallyport::schema {
namespace {

// The same value with the members of every object shuffled.
void shuffled(json::Value value, std::mt19937& random, std::string& out) {
  if (value.is_object()) {
    std::vector<json::Member> members;
    for (const json::Member member : value.members()) members.push_back(member);
    std::ranges::shuffle(members, random);
    out += '{';
    for (const json::Member& member : members) {
      if (out.back() != '{') out += ',';
      out += member.key.raw();
      out += ':';
      shuffled(member.value, random, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const json::Value element : value.elements()) {
      if (out.back() != '[') out += ',';
      shuffled(element, random, out);
    }
    out += ']';
  } else {
    out += value.raw();
  }
}

std::string shuffled(json::Value value, std::mt19937& random) {
  std::string out;
  shuffled(value, random, out);
  return out;
}

// What is at fault, without the order in which it was found.
std::set<std::pair<std::string, std::string>> found(const Verdict& verdict) {
  std::set<std::pair<std::string, std::string>> out;
  for (const SchemaFault& fault : verdict.faults) out.emplace(fault.instance, fault.keyword);
  return out;
}

struct Tally {
  std::size_t pairs = 0, moved = 0;
};

void compare(json::Value group, const CompileOptions& options, std::mt19937& random, Tally& tally) {
  const auto schema = Schema::compile(group.find("schema"), options);
  for (int round = 0; round < 2; ++round) {
    const std::string text = shuffled(group.find("schema"), random);
    const auto document = parse(text);
    const auto other = Schema::compile(document.root(), options);
    ASSERT_EQ(schema.has_value(), other.has_value()) << text;
    if (!schema) continue;
    for (const json::Value test : group.find("tests").elements()) {
      const json::Value data = test.find("data");
      const auto instance = parse(shuffled(data, random));
      const Verdict before = schema->validate(data), after = other->validate(instance.root());
      EXPECT_EQ(before.valid, after.valid) << text << "\n" << instance.root().raw();
      if (before.faults.size() < 20) EXPECT_EQ(found(before), found(after)) << text << "\n" << instance.root().raw();
      ++tally.pairs;
      if (instance.root().raw() != data.raw() || text != group.find("schema").raw()) ++tally.moved;
    }
  }
}

TEST(SchemaOrder, OfMembersChangesNoVerdictAndNoFault) {
  const Suite suite;
  std::mt19937 random(20201212);
  Tally tally;
  const std::pair<const char*, Dialect> drafts[] = {{"draft2020-12", Dialect::draft2020_12},
                                                    {"draft2019-09", Dialect::draft2019_09},
                                                    {"draft7", Dialect::draft7},
                                                    {"draft4", Dialect::draft4}};
  for (const auto& [folder, dialect] : drafts) {
    suite.each_group(folder, [&, dialect = dialect](const std::string& name, json::Value group) {
      compare(group, suite.options(dialect, name), random, tally);
    });
  }
  EXPECT_GT(tally.pairs, 5'000U);
  EXPECT_GT(tally.moved, tally.pairs / 2);
}

}  // namespace
}  // namespace sallyport::schema
