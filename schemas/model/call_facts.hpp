// CallFacts: all that rules may look at. A view: every member belongs to whoever judges the call and outlives the
// judging.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "schemas/core/json.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport {

struct CallFacts {
  const Principal* principal = nullptr;
  Method method = Method::tools_call;
  std::string_view server;  // its id in the config
  std::string_view tool;    // the server's own name of the tool or prompt; empty for resources
  std::string_view uri;     // of resources/read (and a completion's resource ref)
  Effect effect;            // effective, after `cases`
  bool pinned = false;      // the definition in force was accepted; for other methods: the server's identity was
  json::Value arguments;    // absent means {}
  std::span<const std::string>
      paths;                 // pointers that the contract calls paths; a `*` step means every element or member
  json::Value input_schema;  // of the definition in force (defaults of absent members); may be absent
};

}  // namespace sallyport
