// Input: what a request of the API carries, strictly read: the query of a GET, the JSON object of a POST. The first
// fault is kept and comes out of done(), so that actions read everything first and look once. Internal to control.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/net/http.hpp"
#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

class Input {
 public:
  enum class Need : unsigned char { optional, required };

  explicit Input(const HttpRequest& request);

  // A text; of a query its decoded value. Empty: it is not there. `most`: bytes.
  [[nodiscard]] std::string text(std::string_view name, Need need = Need::optional, std::size_t most = 4096);
  // A whole number from 1 to `most`; absent: `otherwise`.
  [[nodiscard]] std::uint32_t count(std::string_view name, std::uint32_t otherwise, std::uint32_t most);
  // A boolean member of a body; absent: false.
  [[nodiscard]] bool flag(std::string_view name);
  [[nodiscard]] std::string optional_object(std::string_view name);  // absent: ""
  // The raw bytes of an object member; absent: `otherwise`.
  [[nodiscard]] std::string object(std::string_view name, std::string_view otherwise = "{}");
  // The objects of an array member; absent: none. Valid as long as this.
  [[nodiscard]] std::vector<json::Value> list(std::string_view name, std::size_t most);
  // A text of such an object, which must be there.
  [[nodiscard]] std::string text_in(json::Value object, std::string_view name);
  // invalid: the first thing that was wrong, members that nobody asked for among them.
  [[nodiscard]] Status done();

 private:
  void read_query(std::string_view query);
  void read_body(const std::string& body);
  void fault(std::string message);
  [[nodiscard]] json::Value member(std::string_view name);

  bool is_query_ = false;
  std::map<std::string, std::string, std::less<>> query_;
  std::unique_ptr<json::Document> body_;
  std::set<std::string, std::less<>> asked_;
  std::string fault_;
};

// `%41` and `+` decoded; nullopt: a bad escape, or not UTF-8.
[[nodiscard]] std::optional<std::string> form_decode(std::string_view text);

}  // namespace sallyport::gateway
