// Exact decimal numbers, made from JSON number tokens: no value is ever rounded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::schema {

// digits × 10^exponent, without leading or trailing zeros in `digits`; zero has no digits.
class Decimal {
 public:
  // Tokens longer than this are not judged (promise 10 refuses them before; this is the backstop).
  static constexpr std::size_t kMaxToken = 1024;

  explicit Decimal(std::string_view token);  // a valid JSON number

  [[nodiscard]] bool is_zero() const { return digits_.empty(); }
  [[nodiscard]] bool is_integer() const { return is_zero() || exponent_ >= 0; }
  [[nodiscard]] bool negative() const { return negative_; }
  [[nodiscard]] std::optional<std::int64_t> small() const {
    return small_;
  }  // the value, where it has at most 18 digits
  [[nodiscard]] std::size_t digits() const { return digits_.size(); }
  // -1, 0 or 1.
  [[nodiscard]] int compare(const Decimal& other) const;
  // Whether this is an integer multiple of `divisor`, which is not zero.
  [[nodiscard]] bool multiple_of(const Decimal& divisor) const;
  [[nodiscard]] std::size_t memory() const { return digits_.capacity(); }

 private:
  bool negative_ = false;
  std::int64_t exponent_ = 0;
  std::optional<std::int64_t> small_;
  std::string digits_;
};

// Whether a JSON number token stands for an integer: 1, 1.0 and 1e2 do.
[[nodiscard]] bool is_integer_token(std::string_view token);

}  // namespace sallyport::schema
