// Routes: to which server a prompt or a resource of /mcp belongs. Names are looked up in tables that the servers' lists
// fill, never split (design section 8). Plain values. Bounds: kLongest bytes a name or URI, kMost names and kTemplates
// templates a server; what is beyond is not found here.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/ports/inbound.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway::relay {

class Routes {
 public:
  static constexpr std::size_t kLongest = 2'048;
  static constexpr std::size_t kMost = 10'000;
  static constexpr std::size_t kTemplates = 500;

  [[nodiscard]] std::size_t bytes() const { return bytes_; }  // of all names

  void add_prompt(const std::string& server, const std::string& name);
  void add_resource(const std::string& server, const std::string& uri);
  void add_template(const std::string& server, const std::string& uri_template);
  void forget(const std::string& server, ListKind kind);

  // No server and no problem: not in the tables.
  [[nodiscard]] Target prompt(std::string_view exposed) const;
  // An exact URI beats templates, of which the one with the longest literal text counts.
  [[nodiscard]] Target resource(std::string_view uri) const;

 private:
  struct Prompt {
    std::string server, name;
    friend auto operator<=>(const Prompt&, const Prompt&) = default;
  };
  enum class Table : unsigned char { prompts, resources, templates };
  [[nodiscard]] bool has_room(const std::string& server, Table table, std::string_view name);
  std::map<std::string, std::set<Prompt>, std::less<>> prompts_;  // by exposed name
  std::map<std::string, std::set<std::string>, std::less<>> resources_;
  std::map<std::string, std::set<std::string>, std::less<>> templates_;
  std::map<std::pair<std::string, Table>, std::size_t> counts_;
  std::size_t bytes_ = 0;
};

}  // namespace sallyport::gateway::relay
