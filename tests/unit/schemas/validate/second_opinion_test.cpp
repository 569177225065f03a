// valijson's verdicts on the suite's draft-07 cases beside ours: where it is right, we agree; where it is not, it is
// one of what is listed here.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <valijson/adapters/boost_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <vector>

#include "tests/unit/schemas/validate/suite.hpp"

namespace sallyport::schema {
namespace {

namespace bj = boost::json;
using Adapter = valijson::adapters::BoostJsonAdapter;

class Valijson {
 public:
  explicit Valijson(const Suite& suite) {
    for (const External& external : suite.externals())
      remotes_.emplace(external.uri, bj::parse(std::string(external.schema.raw())));
  }

  // Why it cannot use the schema; else its validator is ready.
  std::optional<std::string> compile(json::Value text) {
    schema_.emplace();
    try {
      const bj::value root = bj::parse(std::string(text.raw()));
      valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
      parser.populateSchema(
          Adapter(root), *schema_,
          [this](const std::string& uri) -> const bj::value* {
            const auto found = remotes_.find(uri.substr(0, uri.find('#')));
            return found == remotes_.end() ? nullptr : &found->second;
          },
          [](const bj::value*) {});
      return std::nullopt;
    } catch (const std::exception& e) {
      return e.what();
    }
  }
  std::optional<bool> valid(json::Value instance) {
    try {
      const bj::value value = bj::parse(std::string(instance.raw()));
      valijson::Validator validator;
      return validator.validate(*schema_, Adapter(value), nullptr);
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

 private:
  std::map<std::string, bj::value, std::less<>> remotes_;
  std::optional<valijson::Schema> schema_;
};

// What valijson 1.0 gets wrong of the required cases, by `file: group`, and why.
std::string known_failure(const std::string& key) {
  static const std::map<std::string, std::vector<std::string>> kReasons = {
      {"it has no meta-schemas",
       {"definitions.json: validate definition against metaschema", "ref.json: remote ref, containing refs itself"}},
      {"it asserts formats", {"format.json: date format", "format.json: date-time format", "format.json: time format"}},
      {"it takes 2.0 for no integer",
       {"maxItems.json: maxItems validation with a decimal", "maxLength.json: maxLength validation with a decimal",
        "maxProperties.json: maxProperties validation with a decimal",
        "minItems.json: minItems validation with a decimal", "minLength.json: minLength validation with a decimal",
        "minProperties.json: minProperties validation with a decimal", "type.json: integer type matches integers"}},
      {"it computes with doubles", {"multipleOf.json: small multiple of large integer"}},
      {"it finds references by pointer from the root only, without `$id`, `if` and empty names",
       {"ref.json: $id must be resolved against nearest parent, not just immediate parent",
        "ref.json: $ref prevents a sibling $id from changing the base uri",
        "ref.json: Location-independent identifier",
        "ref.json: Location-independent identifier with base URI change in subschema",
        "ref.json: Recursive references between schemas",
        "ref.json: Reference an anchor with a non-relative URI",
        "ref.json: URN base URI with URN and JSON pointer ref",
        "ref.json: URN base URI with URN and anchor ref",
        "ref.json: empty tokens in $ref json-pointer",
        "ref.json: ref to else",
        "ref.json: ref to if",
        "ref.json: ref to then",
        "ref.json: ref with absolute-path-reference",
        "ref.json: refs with relative uris and defs",
        "ref.json: relative refs with absolute uris and defs",
        "ref.json: simple URN base URI with $ref via the URN",
        "refRemote.json: $ref to $ref finds location-independent $id",
        "refRemote.json: Location-independent identifier in remote ref",
        "refRemote.json: base URI change",
        "refRemote.json: base URI change - change folder",
        "refRemote.json: base URI change - change folder in subschema",
        "refRemote.json: remote ref with ref to definitions",
        "refRemote.json: retrieved nested refs resolve relative to their URI not $id",
        "refRemote.json: root ref in remote ref"}}};
  for (const auto& [reason, keys] : kReasons) {
    if (std::ranges::find(keys, key) != keys.end()) return reason;
  }
  return {};
}

TEST(SecondOpinion, ValijsonAgreesButForWhatItIsKnownToGetWrong) {
  const Suite suite;
  Valijson theirs(suite);
  std::size_t agreed = 0, total = 0;
  std::map<std::string, std::size_t> differ;  // by reason
  suite.each_group("draft7", [&](const std::string& name, json::Value group) {
    if (name.starts_with("optional/")) return;
    const std::string key = name + ": " + group.find("description").string();
    const auto ours = Schema::compile(group.find("schema"), suite.options(Dialect::draft7, name));
    ASSERT_TRUE(ours) << key << ": " << ours.error().message;
    const auto refused = theirs.compile(group.find("schema"));
    const std::string known = known_failure(key);
    for (const json::Value test : group.find("tests").elements()) {
      ++total;
      const bool valid = ours->valid(test.find("data"));
      const auto verdict = refused ? std::nullopt : theirs.valid(test.find("data"));
      if (verdict == valid) {
        ++agreed;
        continue;
      }
      ++differ[known];
      EXPECT_FALSE(known.empty()) << key << ": " << test.find("description").string() << ": ours " << valid
                                  << ", valijson "
                                  << (verdict ? (*verdict ? "true" : "false") : refused.value_or("failed"));
    }
  });
  for (const auto& [reason, count] : differ) std::cout << "valijson: " << count << ": " << reason << "\n";
  std::cout << "valijson agrees in " << agreed << " of " << total << "\n";
  EXPECT_GT(agreed, total * 8 / 10);
}

}  // namespace
}  // namespace sallyport::schema
