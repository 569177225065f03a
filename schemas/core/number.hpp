// Numbers as exact decimals, from their JSON tokens; for the sources of this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sallyport::json {

// The value is ±d.ddd… × 10^top, d… being the significant digits, the first of them not zero. A view of its token.
class Decimal {
 public:
  explicit Decimal(std::string_view token);  // a JSON number
  [[nodiscard]] bool zero() const { return digits_.empty(); }
  [[nodiscard]] bool negative() const { return negative_; }
  [[nodiscard]] bool huge() const { return huge_; }  // the exponent has 19 digits or more; top() has its sign only
  [[nodiscard]] std::int64_t top() const { return top_; }
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  friend bool equal(const Decimal& a, const Decimal& b);

 private:
  void read_exponent(std::string_view exponent);
  std::string_view token_;
  std::string_view digits_;  // from the first to the last digit that is not zero; may hold the point
  std::int64_t top_ = 0;
  bool negative_ = false;
  bool huge_ = false;
};

bool equal(const Decimal& a, const Decimal& b);

// Ambiguity::unsafe_number of json.hpp.
bool unsafe_number(std::string_view token);

}  // namespace sallyport::json
