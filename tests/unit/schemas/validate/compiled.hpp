// Short ways to compile and judge, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "schemas/validate/schema.hpp"

namespace sallyport::schema {

inline json::Document parse(std::string_view text, std::uint32_t depth = 200'000) {
  auto document = json::Document::parse(std::string(text), {.bytes = 64U << 20, .depth = depth});
  if (!document) throw std::runtime_error("no JSON: " + document.error().message);
  return std::move(*document);
}

inline Schema compiled(std::string_view text, const CompileOptions& options = {}) {
  const auto document = parse(text);
  auto schema = Schema::compile(document.root(), options);
  if (!schema) throw std::runtime_error("no schema: " + schema.error().message);
  return std::move(*schema);
}

inline std::string refusal(std::string_view text, const CompileOptions& options = {}) {
  const auto document = parse(text);
  const auto schema = Schema::compile(document.root(), options);
  return schema ? "compiled" : schema.error().message;
}

inline bool accepts(const Schema& schema, std::string_view instance) {
  const auto document = parse(instance);
  const bool valid = schema.valid(document.root());
  EXPECT_EQ(valid, schema.validate(document.root()).valid) << instance;
  return valid;
}

inline bool accepts(std::string_view schema, std::string_view instance) { return accepts(compiled(schema), instance); }

inline Verdict judge(const Schema& schema, std::string_view instance, std::span<const std::string> redact = {}) {
  const auto document = parse(instance);
  return schema.validate(document.root(), redact);
}

// `pointer keyword message` of each fault, a line each.
inline std::string faults(std::string_view schema, std::string_view instance,
                          std::span<const std::string> redact = {}) {
  std::string out;
  for (const auto& fault : judge(compiled(schema), instance, redact).faults) {
    out += fault.instance + " " + fault.keyword + " " + fault.message + "\n";
  }
  return out;
}

}  // namespace sallyport::schema
