// A string that prints as `***`, compares in constant time and is wiped when it goes.
#pragma once

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

}  // namespace sallyport
