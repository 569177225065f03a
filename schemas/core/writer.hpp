// Writes JSON of our own making straight into a string, in the order of the calls: for texts whose order is known where
// they are made (canonical receipts, lock files) and that are made too often for a tree. Commas are its business;
// whoever wants canonical form calls in RFC 8785 order. Absent beats null: the `text`, `list` and `optional` forms skip
// what is empty.
#pragma once

#include <charconv>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "schemas/core/encoding.hpp"

namespace sallyport::json {

class Writer {
 public:
  explicit Writer(std::size_t reserve = 256) { out_.reserve(reserve); }

  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }

  Writer& key(std::string_view name) {
    comma();
    string(name);
    out_ += ':';
    comma_ = false;
    return *this;
  }
  Writer& value(std::string_view text) {
    comma();
    string(text);
    return *this;
  }
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(bool flag) { return raw(flag ? "true" : "false"); }
  Writer& value(std::uint64_t number) {
    char buffer[24];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    return raw({buffer, static_cast<std::size_t>(end - buffer)});
  }
  // JSON text as it is.
  Writer& raw(std::string_view json) {
    comma();
    out_ += json;
    return *this;
  }

  template <class T>
  Writer& member(std::string_view name, const T& item) {
    key(name);
    return value(item);
  }
  // Nothing for an empty text.
  Writer& text(std::string_view name, std::string_view item) { return item.empty() ? *this : key(name).value(item); }
  // Nothing for an empty list.
  Writer& list(std::string_view name, std::span<const std::string> items) {
    if (items.empty()) return *this;
    key(name).begin_array();
    for (const auto& item : items) value(std::string_view(item));
    return end_array();
  }

  [[nodiscard]] const std::string& text() const { return out_; }
  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void comma() {
    if (comma_) out_ += ',';
    comma_ = true;
  }
  Writer& open(char bracket) {
    comma();
    out_ += bracket;
    comma_ = false;
    return *this;
  }
  Writer& close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
  }
  void string(std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte >= 0x80 || c == '"' || c == '\\') {
        out_ += quote(text);
        return;
      }
    }
    out_ += '"';
    out_ += text;
    out_ += '"';
  }

  std::string out_;
  bool comma_ = false;
};

}  // namespace sallyport::json
