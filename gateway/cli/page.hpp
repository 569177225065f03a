// Building blocks of the renderers: reading JSON without surprises, and pages of aligned labels. Internal to cli.
#pragma once

#include <boost/json/fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sallyport::gateway::cli {

// A value as text for people: strings as they are, the rest as JSON; hidden characters visible.
[[nodiscard]] std::string shown(const boost::json::value& value);
// Of a member; absent, null or not an object: "".
[[nodiscard]] std::string text(const boost::json::object& object, std::string_view name);
[[nodiscard]] bool flag(const boost::json::object& object, std::string_view name);
// Members that are not of that kind are empty ones.
[[nodiscard]] const boost::json::object& child(const boost::json::object& object, std::string_view name);
[[nodiscard]] const boost::json::array& list(const boost::json::object& object, std::string_view name);
[[nodiscard]] std::string joined(const boost::json::array& texts, std::string_view between = ", ");
// The object, or nullopt.
[[nodiscard]] std::optional<boost::json::object> parse_object(std::string_view json);

// What the renderers of effects share: `record, not destructive, repeat keyed, labels money (assigned: record;
// declared: …)`.
[[nodiscard]] std::string effect_text(const boost::json::object& effect);
[[nodiscard]] std::string declared_text(const boost::json::object& effect);

// Labels and values in two columns; blocks and texts between. Values are safe to show already.
class Page {
 public:
  void line(std::string text);                                           // as it is
  void row(std::string label, std::string value);                        // left out if the value is empty
  void rows(std::string label, const std::vector<std::string>& values);  // the label once
  void block(const boost::json::array& lines);                           // each a line of its own, indented
  void heading(std::string text);
  // Members that nobody has shown, as JSON, so that nothing is left out.
  void others(const boost::json::object& object, std::initializer_list<std::string_view> shown_already);
  [[nodiscard]] std::string take();

 private:
  struct Entry {
    std::string label, value;
    bool row = false;
  };
  std::vector<Entry> entries_;
};

}  // namespace sallyport::gateway::cli
