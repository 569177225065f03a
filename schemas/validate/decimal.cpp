#include "schemas/validate/decimal.hpp"

#include <algorithm>
#include <boost/multiprecision/cpp_int.hpp>

namespace sallyport::schema {
namespace {

constexpr std::int64_t kExponentBound = 1'000'000'000'000'000;  // far beyond any double; keeps sums inside int64
constexpr std::size_t kSmallDigits = 18;                        // products of two such fit 128 bits

std::int64_t parse_exponent(std::string_view text) {
  bool negative = false;
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
    negative = text.front() == '-';
    text.remove_prefix(1);
  }
  std::int64_t value = 0;
  for (const char c : text) value = std::min(value * 10 + (c - '0'), kExponentBound);
  return negative ? -value : value;
}

__extension__ using Wide = unsigned __int128;

// 10^power mod modulus, modulus < 10^18.
std::uint64_t power_of_ten(std::uint64_t power, std::uint64_t modulus) {
  Wide result = 1 % modulus;
  Wide base = 10 % modulus;
  for (; power != 0; power >>= 1U) {
    if ((power & 1U) != 0) result = result * base % modulus;
    base = base * base % modulus;
  }
  return static_cast<std::uint64_t>(result);
}

bool small_multiple(std::string_view digits, std::int64_t shift, std::string_view divisor) {
  std::uint64_t modulus = 0;
  for (const char c : divisor) modulus = modulus * 10 + static_cast<std::uint64_t>(c - '0');
  Wide rest = 0;
  for (const char c : digits) rest = (rest * 10 + static_cast<Wide>(c - '0')) % modulus;
  rest = rest * power_of_ten(static_cast<std::uint64_t>(shift), modulus) % modulus;
  return rest == 0;
}

bool large_multiple(const std::string& digits, std::int64_t shift, const std::string& divisor) {
  using boost::multiprecision::cpp_int;
  const cpp_int modulus(divisor);
  const cpp_int value(digits);
  const cpp_int scale = boost::multiprecision::powm(cpp_int(10), cpp_int(shift), modulus);
  return value % modulus * scale % modulus == 0;
}

}  // namespace

Decimal::Decimal(std::string_view token) {
  if (!token.empty() && token.front() == '-') {
    negative_ = true;
    token.remove_prefix(1);
  }
  if (const auto e = token.find_first_of("eE"); e != token.npos) {
    exponent_ = parse_exponent(token.substr(e + 1));
    token = token.substr(0, e);
  }
  const auto dot = token.find('.');
  digits_.reserve(token.size());
  digits_.append(token.substr(0, dot));
  if (dot != token.npos) {
    digits_.append(token.substr(dot + 1));
    exponent_ -= static_cast<std::int64_t>(token.size() - dot - 1);
  }
  digits_.erase(0, std::min(digits_.find_first_not_of('0'), digits_.size()));
  const auto last = digits_.find_last_not_of('0');
  if (last == std::string::npos) {
    digits_.clear();
    exponent_ = 0;
    negative_ = false;
    small_ = 0;
    return;
  }
  exponent_ += static_cast<std::int64_t>(digits_.size() - last - 1);
  digits_.resize(last + 1);
  if (exponent_ < 0 || exponent_ + static_cast<std::int64_t>(digits_.size()) > static_cast<std::int64_t>(kSmallDigits))
    return;
  std::int64_t value = 0;
  for (const char c : digits_) value = value * 10 + (c - '0');
  for (std::int64_t i = 0; i < exponent_; ++i) value *= 10;
  small_ = negative_ ? -value : value;
}

int Decimal::compare(const Decimal& other) const {
  if (is_zero() || other.is_zero() || negative_ != other.negative_) {
    const int mine = is_zero() ? 0 : (negative_ ? -1 : 1);
    const int theirs = other.is_zero() ? 0 : (other.negative_ ? -1 : 1);
    return mine < theirs ? -1 : static_cast<int>(mine > theirs);
  }
  const int sign = negative_ ? -1 : 1;
  const std::int64_t top = exponent_ + static_cast<std::int64_t>(digits_.size());
  const std::int64_t other_top = other.exponent_ + static_cast<std::int64_t>(other.digits_.size());
  if (top != other_top) return top < other_top ? -sign : sign;
  // The same place of the first digit: digits compare like text, a longer one beyond a common start is larger.
  const int order = digits_.compare(other.digits_);
  return order < 0 ? -sign : (order > 0 ? sign : 0);
}

bool Decimal::multiple_of(const Decimal& divisor) const {
  if (is_zero()) return true;
  // Without trailing zeros a value with a smaller exponent has a digit where the multiples have none.
  const std::int64_t shift = exponent_ - divisor.exponent_;
  if (shift < 0) return false;
  if (divisor.digits_.size() <= kSmallDigits) return small_multiple(digits_, shift, divisor.digits_);
  return large_multiple(digits_, shift, divisor.digits_);
}

bool is_integer_token(std::string_view token) {
  if (token.find_first_of(".eE") == token.npos) return true;
  return Decimal(token).is_integer();
}

}  // namespace sallyport::schema
