#include "schemas/core/number.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace sallyport::json {
namespace {

constexpr std::size_t kMaxToken = 1024;
constexpr std::size_t kMaxExponentDigits = 18;  // fits an int64, with room for the place of the point

}  // namespace

Decimal::Decimal(std::string_view token) : token_(token) {
  negative_ = token.starts_with('-');
  if (negative_) token.remove_prefix(1);
  const auto e = token.find_first_of("eE");
  const auto mantissa = token.substr(0, e);
  const auto first = mantissa.find_first_not_of("0.");
  if (first == std::string_view::npos) return;
  const auto last = mantissa.find_last_not_of("0.");
  digits_ = mantissa.substr(first, last - first + 1);
  const auto point = std::min(mantissa.find('.'), mantissa.size());
  top_ = first < point ? static_cast<std::int64_t>(point - first) - 1 : -static_cast<std::int64_t>(first - point);
  if (e != std::string_view::npos) read_exponent(token.substr(e + 1));
}

void Decimal::read_exponent(std::string_view exponent) {
  const bool minus = exponent.starts_with('-');
  if (minus || exponent.starts_with('+')) exponent.remove_prefix(1);
  exponent.remove_prefix(std::min(exponent.find_first_not_of('0'), exponent.size()));
  if (exponent.size() > kMaxExponentDigits) {
    huge_ = true;
    top_ = minus ? -1 : 1;
    return;
  }
  std::int64_t value = 0;
  for (const char c : exponent) value = value * 10 + (c - '0');
  top_ += minus ? -value : value;
}

std::optional<std::int64_t> Decimal::integer() const {
  if (zero()) return 0;
  if (huge_ || top_ < 0 || top_ > 18) return std::nullopt;
  std::uint64_t value = 0;  // below 10^19
  std::int64_t places = top_ + 1;
  for (const char c : digits_) {
    if (c == '.') continue;
    if (places-- == 0) return std::nullopt;  // digits after the point
    value = value * 10 + static_cast<std::uint64_t>(c - '0');
  }
  for (; places > 0; --places) value *= 10;
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (value > kMax + (negative_ ? 1 : 0)) return std::nullopt;
  return static_cast<std::int64_t>(negative_ ? 0 - value : value);
}

bool equal(const Decimal& a, const Decimal& b) {
  if (a.zero() || b.zero()) return a.zero() && b.zero();
  if (a.huge_ || b.huge_) return a.token_ == b.token_;
  if (a.negative_ != b.negative_ || a.top_ != b.top_) return false;
  std::size_t i = 0;
  std::size_t j = 0;
  for (;; ++i, ++j) {
    if (i < a.digits_.size() && a.digits_[i] == '.') ++i;
    if (j < b.digits_.size() && b.digits_[j] == '.') ++j;
    if (i == a.digits_.size() || j == b.digits_.size()) return i == a.digits_.size() && j == b.digits_.size();
    if (a.digits_[i] != b.digits_[j]) return false;
  }
}

bool unsafe_number(std::string_view token) {
  if (token.size() > kMaxToken) return true;
  const Decimal decimal(token);
  if (decimal.zero()) return false;
  if (decimal.huge() || decimal.top() > 308 || decimal.top() < -324) return true;
  if (decimal.top() < 308 && decimal.top() > -324) return false;
  double value = 0;  // at the edges: rounding decides
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
  return error != std::errc() || value == 0 || value > std::numeric_limits<double>::max() ||
         value < -std::numeric_limits<double>::max();
}

}  // namespace sallyport::json
