// Exact decimal numbers: compared and added on their digits, never rounded (design section 4: conditions and budgets).
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::policy {

// (-1)^negative × digits × 10^exponent; `digits` without leading or trailing zeros; zero is empty and not negative.
class Decimal {
 public:
  static constexpr std::size_t kMaxToken = 1024;         // promise 10
  static constexpr std::int64_t kMaxExponent = 100'000;  // of a token; beyond it no double is finite or unlike zero

  Decimal() = default;  // zero
  explicit Decimal(std::int64_t value);

  // A JSON number token. nullopt: no number, too long, or its exponent is out of bounds.
  [[nodiscard]] static std::optional<Decimal> parse(std::string_view token);
  // As `parse`, but only if every reader agrees on the value: the nearest double, printed in RFC 8785 form, is the same
  // decimal (`0.1` and `1.0` are; `9007199254740993` is not).
  [[nodiscard]] static std::optional<Decimal> parse_safe(std::string_view token);

  [[nodiscard]] bool zero() const { return digits_.empty(); }
  [[nodiscard]] bool negative() const { return negative_; }
  [[nodiscard]] bool integer() const { return exponent_ >= 0; }
  [[nodiscard]] std::string text() const;  // plain, without exponent if that is short enough

  friend std::strong_ordering operator<=>(const Decimal& a, const Decimal& b);
  friend bool operator==(const Decimal& a, const Decimal& b) = default;
  // nullopt: the result would need more than 2,048 digits.
  [[nodiscard]] static std::optional<Decimal> add(const Decimal& a, const Decimal& b);
  [[nodiscard]] static std::optional<Decimal> subtract(const Decimal& a, const Decimal& b);

 private:
  void normalise();
  bool negative_ = false;
  std::int64_t exponent_ = 0;
  std::string digits_;
};

}  // namespace sallyport::policy
