// Puts raw faults into words that a model can act on. For the sources of this folder.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schemas/validate/evaluator.hpp"

namespace sallyport::schema {

class Explainer {
 public:
  // `redact`: pointers, relative to the instance, whose values are not shown.
  Explainer(const Program& program, json::Value instance, std::span<const std::string> redact);

  [[nodiscard]] SchemaFault explain(const RawFault& fault);
  [[nodiscard]] SchemaFault limit(const Evaluator& stopped);

 private:
  [[nodiscard]] std::string message(const RawFault& fault) const;
  [[nodiscard]] std::string value_message(const RawFault& fault) const;
  [[nodiscard]] std::string size_message(const RawFault& fault) const;
  [[nodiscard]] std::string member_message(const RawFault& fault) const;
  [[nodiscard]] std::string branch_message(const RawFault& fault) const;
  [[nodiscard]] std::string enum_message(const RawFault& fault) const;
  [[nodiscard]] std::string required_message(const RawFault& fault) const;
  [[nodiscard]] std::string unknown_message(const RawFault& fault) const;

  // Where the fault at hand is, and what of it may be shown.
  struct Place {
    std::string shown;    // the pointer to name: that of the redaction, or of what is around a place too long to name
    bool long_ = false;   // it is shortened
    bool secret = false;  // its value is not shown
    bool within = false;  // nor is the name of its last step, which lies inside a redacted value
  };
  [[nodiscard]] Place place_of(json::Value value) const;
  [[nodiscard]] std::string came(json::Value value) const;  // what came, hidden where it must be
  [[nodiscard]] std::string schema_pointer(SubId sub, Keyword keyword) const;
  [[nodiscard]] json::Value stated(const RawFault& fault, Keyword keyword) const;
  [[nodiscard]] std::vector<std::string> declared(const RawFault& fault) const;

  const Program& program_;
  std::size_t prefix_;  // of pointers into the instance's document
  std::vector<std::string> redact_;
  std::vector<std::string> folded_;  // the same, folded
  Place place_;                      // of the fault that is being explained
};

}  // namespace sallyport::schema
