// Principal: who the client proved to be. What it claims of itself is recorded as claimed and decides nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sallyport {

struct Principal {
  std::string id;                   // `agent:ci`, `local:1000`, `client:local`, `anonymous:<connection>`, `gateway`
  std::vector<std::string> groups;  // for rules
  std::string owner;                // a person id, or empty
  bool anonymous = false;           // proved nothing: is alone, and can only be allowed `read`

  [[nodiscard]] bool in_group(std::string_view group) const;
};

// A person of the control listener.
enum class Role : unsigned char { approver = 1, operator_ = 2, auditor = 4, watcher = 8 };
struct Person {
  std::string id;
  unsigned roles = 0;  // of Role, or-ed
  std::vector<std::string> groups;

  [[nodiscard]] bool has(Role role) const { return (roles & static_cast<unsigned>(role)) != 0; }
  [[nodiscard]] bool in_group(std::string_view group) const;
};

// A tool as the server names it. The exposed name is another thing and never joined or split (design section 8).
struct ToolRef {
  std::string server;
  std::string tool;
  friend bool operator==(const ToolRef&, const ToolRef&) = default;
  friend auto operator<=>(const ToolRef&, const ToolRef&) = default;
};

}  // namespace sallyport
