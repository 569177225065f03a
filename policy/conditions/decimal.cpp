#include "policy/conditions/decimal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace sallyport::policy {
namespace {

constexpr std::int64_t kMaxDigits = 2048;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Adds or subtracts two digit strings of equal length; of `subtract`, a >= b.
std::string add_digits(const std::string& a, const std::string& b) {
  std::string out(a.size() + 1, '0');
  int carry = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    const int sum = (a[i] - '0') + (b[i] - '0') + carry;
    out[i + 1] = static_cast<char>('0' + sum % 10);
    carry = sum / 10;
  }
  out[0] = static_cast<char>('0' + carry);
  return out;
}

std::string subtract_digits(const std::string& a, const std::string& b) {
  std::string out(a.size(), '0');
  int borrow = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    int difference = (a[i] - '0') - (b[i] - '0') - borrow;
    borrow = difference < 0 ? 1 : 0;
    if (difference < 0) difference += 10;
    out[i] = static_cast<char>('0' + difference);
  }
  return out;
}

}  // namespace

Decimal::Decimal(std::int64_t value) : negative_(value < 0) {
  std::array<char, 24> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  digits_.assign(buffer.data() + (negative_ ? 1 : 0), end);
  normalise();
}

void Decimal::normalise() {
  const std::size_t first = digits_.find_first_not_of('0');
  if (first == std::string::npos) {
    *this = Decimal();
    return;
  }
  digits_.erase(0, first);
  const std::size_t last = digits_.find_last_not_of('0');
  exponent_ += static_cast<std::int64_t>(digits_.size() - last - 1);
  digits_.resize(last + 1);
}

std::optional<Decimal> Decimal::parse(std::string_view token) {
  if (token.empty() || token.size() > kMaxToken) return std::nullopt;
  Decimal out;
  std::size_t i = 0;
  if (token[i] == '-') {
    out.negative_ = true;
    ++i;
  }
  const std::size_t whole = i;
  while (i < token.size() && is_digit(token[i])) ++i;
  if (i == whole) return std::nullopt;
  out.digits_.assign(token.substr(whole, i - whole));
  if (i < token.size() && token[i] == '.') {
    const std::size_t fraction = ++i;
    while (i < token.size() && is_digit(token[i])) ++i;
    if (i == fraction) return std::nullopt;
    out.digits_.append(token.substr(fraction, i - fraction));
    out.exponent_ = -static_cast<std::int64_t>(i - fraction);
  }
  if (i < token.size() && (token[i] == 'e' || token[i] == 'E')) {
    ++i;
    if (i < token.size() && token[i] == '+') ++i;
    std::int64_t exponent = 0;
    const auto [end, error] = std::from_chars(token.data() + i, token.data() + token.size(), exponent);
    if (error != std::errc() || end == token.data() + i) return std::nullopt;
    if (exponent > kMaxExponent || exponent < -kMaxExponent) return std::nullopt;
    out.exponent_ += exponent;
    i = static_cast<std::size_t>(end - token.data());
  }
  if (i != token.size()) return std::nullopt;
  out.normalise();
  return out;
}

std::optional<Decimal> Decimal::parse_safe(std::string_view token) {
  auto exact = parse(token);
  if (!exact) return std::nullopt;
  // Fifteen digits survive a double and back, as long as its exponent is ordinary.
  if (exact->digits_.size() <= 15 && token.size() <= 40 && exact->exponent_ > -40 && exact->exponent_ < 40)
    return exact;
  double nearest = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), nearest);
  if (error != std::errc() || end != token.data() + token.size() || !std::isfinite(nearest)) return std::nullopt;
  // The shortest digits that lead back to this double are those of RFC 8785; only their form may differ here.
  std::array<char, 40> buffer{};
  const auto printed =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), nearest, std::chars_format::scientific);
  if (printed.ec != std::errc()) return std::nullopt;
  const auto round = parse(std::string_view(buffer.data(), static_cast<std::size_t>(printed.ptr - buffer.data())));
  if (!round || *round != *exact) return std::nullopt;
  return exact;
}

std::string Decimal::text() const {
  if (zero()) return "0";
  std::string out = negative_ ? "-" : "";
  const auto size = static_cast<std::int64_t>(digits_.size());
  if (exponent_ >= 0 && size + exponent_ <= 40)
    return out + digits_ + std::string(static_cast<std::size_t>(exponent_), '0');
  const std::int64_t point = size + exponent_;  // digits before the point
  if (exponent_ < 0 && point > 0) {
    return out + digits_.substr(0, static_cast<std::size_t>(point)) + "." +
           digits_.substr(static_cast<std::size_t>(point));
  }
  if (exponent_ < 0 && point > -20) return out + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits_;
  return out + digits_ + "e" + std::to_string(exponent_);
}

std::strong_ordering operator<=>(const Decimal& a, const Decimal& b) {
  if (a == b) return std::strong_ordering::equal;
  if (a.negative_ != b.negative_) return a.negative_ ? std::strong_ordering::less : std::strong_ordering::greater;
  const auto magnitude = [&]() -> std::strong_ordering {
    if (a.zero() || b.zero()) return a.zero() ? std::strong_ordering::less : std::strong_ordering::greater;
    const std::int64_t left = static_cast<std::int64_t>(a.digits_.size()) + a.exponent_;
    const std::int64_t right = static_cast<std::int64_t>(b.digits_.size()) + b.exponent_;
    if (left != right) return left <=> right;
    return a.digits_.compare(b.digits_) <=> 0;  // no trailing zeros: a proper prefix is the smaller
  }();
  return a.negative_ ? 0 <=> magnitude : magnitude;
}

std::optional<Decimal> Decimal::add(const Decimal& a, const Decimal& b) {
  if (a.zero()) return b;
  if (b.zero()) return a;
  const std::int64_t exponent = std::min(a.exponent_, b.exponent_);
  const std::int64_t left = static_cast<std::int64_t>(a.digits_.size()) + a.exponent_ - exponent;
  const std::int64_t right = static_cast<std::int64_t>(b.digits_.size()) + b.exponent_ - exponent;
  const std::int64_t width = std::max(left, right);
  if (width > kMaxDigits) return std::nullopt;
  const auto aligned = [&](const Decimal& value, std::int64_t length) {
    return std::string(static_cast<std::size_t>(width - length), '0') + value.digits_ +
           std::string(static_cast<std::size_t>(value.exponent_ - exponent), '0');
  };
  const std::string x = aligned(a, left);
  const std::string y = aligned(b, right);
  Decimal out;
  out.exponent_ = exponent;
  if (a.negative_ == b.negative_) {
    out.negative_ = a.negative_;
    out.digits_ = add_digits(x, y);
  } else {
    const bool swap = x < y;
    out.negative_ = swap ? b.negative_ : a.negative_;
    out.digits_ = swap ? subtract_digits(y, x) : subtract_digits(x, y);
  }
  out.normalise();
  return out;
}

std::optional<Decimal> Decimal::subtract(const Decimal& a, const Decimal& b) {
  Decimal minus = b;
  if (!minus.zero()) minus.negative_ = !minus.negative_;
  return add(a, minus);
}

}  // namespace sallyport::policy
