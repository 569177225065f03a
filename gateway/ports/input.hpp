// Input in the middle of a call (MRTR, mcp.md 1.3): a modern server answers a call with what it wants to know first,
// and goes on when the call is sent again with the answers and with its state. The operation stays open meanwhile
// (design section 8): `awaiting-input`, until the last leg, or until nobody can send one any more, which makes a write
// unknown.
//
// Legacy clients are asked by the gateway while their request is open. Modern clients get InputNeeded as their answer;
// whoever speaks their era seals it into a requestState of its own and hands it back as InputGiven.
#pragma once

#include <memory>
#include <string>

#include "schemas/core/json.hpp"
#include "schemas/core/time.hpp"

namespace sallyport::gateway {

// Ports' form of an `input_required` result. What the sealed state of a client must bind is all of it but `requests`.
struct InputNeeded {
  std::string operation;   // op_…: stays open for the next leg
  int leg = 1;             // of the call, from 1; the next one is leg + 1. Makes a state single-use
  std::string server;      // its id
  std::string tool;        // or prompt, the server's own name; empty for a resource
  std::string definition;  // sha256:… of the tool as judged; empty for what is no tool
  std::string arguments;   // sha256:… of the bytes of `arguments` (empty text without any)
  std::string requests;    // raw JSON object: the server's keys, each {method, params}, labelled with the server's id
  std::string state;       // raw JSON string: the server's requestState; empty: it gave none
  UnixMillis expires = 0;  // after that no leg is taken any more
};

// What a client sent with the next leg, taken out of a state that was proven to be ours, this principal's, for these
// arguments and in time. The call's own params stand in the Inbound as ever.
struct InputGiven {
  std::string operation;
  int leg = 1;                                     // that the state was made for
  std::string state;                               // raw JSON string: the server's requestState; empty: it gave none
  std::shared_ptr<const json::Document> document;  // owns responses
  json::Value responses;                           // an object by the server's keys, or absent
};

}  // namespace sallyport::gateway
