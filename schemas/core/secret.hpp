// A string that prints as `***`, compares in constant time and is wiped when it goes.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sallyport {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(Secret&& other) noexcept;
  Secret& operator=(Secret&& other) noexcept;
  Secret(const Secret&) = default;
  Secret& operator=(const Secret& other);
  ~Secret();

  [[nodiscard]] const std::string& reveal() const { return value_; }
  [[nodiscard]] bool empty() const { return value_.empty(); }
  [[nodiscard]] bool equals(std::string_view other) const;
  friend std::string to_string(const Secret&) { return "***"; }

 private:
  void wipe();
  std::string value_;
};

// A shorter secret would be found in texts that say nothing of it.
inline constexpr std::size_t kShortestSecret = 6;
// Puts `***` in the place of every secret of that length or more; how many there were.
std::size_t mask(std::string& text, std::span<const Secret> secrets);

}  // namespace sallyport
