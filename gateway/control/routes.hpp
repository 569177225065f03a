// Every route of the control side, in one table: method, path, and what is done (docs/control-api.md is its text).
// Internal to control.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/control/input.hpp"
#include "gateway/ports/desk.hpp"

namespace sallyport::gateway {

// Reads its input and asks the Desk; faults of the input come out as the answer.
using Action = DeskAnswer (*)(Desk& desk, Person person, std::string id, Input& input);

enum class Kind : unsigned char {
  api,      // `action`
  me,       // who the credential is
  events,   // approvals/events
  login,    // a code for a session, without a credential
  code,     // a code for the person who asks
  logout,   // ends the session that the credential is
  page,     // a static file of the console, without a credential
  healthz,  // without a credential
  readyz,
  metrics,
};

struct Route {
  std::string_view method;
  std::string_view path;  // `*` stands for one segment, an id
  Kind kind = Kind::api;
  Action action = nullptr;
  [[nodiscard]] bool open() const { return kind == Kind::page || kind == Kind::healthz || kind == Kind::login; }
};

[[nodiscard]] const std::vector<Route>& routes();

struct Matched {
  const Route* route = nullptr;  // null: no such path, or not with this method
  std::string id;
  std::string allow;  // methods that the path takes; empty: no such path
};
// HEAD is taken where GET is.
[[nodiscard]] Matched match_route(std::string_view method, std::string_view path);

}  // namespace sallyport::gateway
