// One server with a check, a file to write and a queue that takes amounts, for what rules want besides the arguments.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/rig.hpp"

namespace sallyport::test {

inline constexpr const char* kCheck =
    R"({"name":"check","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"passed":{"type":"boolean"}},"required":["passed"]}})";
inline constexpr const char* kWrite =
    R"({"name":"write","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}})";
inline constexpr const char* kQueue =
    R"({"name":"queue","inputSchema":{"type":"object","properties":{"amount":{"type":"number"}}}})";

inline RigOptions options(const std::string& more) {
  RigOptions options;
  options.policy =
      R"({"default":"deny","approval":{"by":["owners"]},"rules":[{"id":"all","allow":{"server":"s"}})" + more;
  options.trust =
      R"({"servers":{"s":{"tools":{"check":"read","write":{"effect":"file"},"queue":{"effect":"record","errors":"none","scope":"amount/{/amount}"}}}}})";
  options.servers["s"].tools = {kCheck, kWrite, kQueue};
  options.servers["s"].on_call = [](Dispatched& call) {
    call.result(call.tool == "check" ? R"({"content":[],"structuredContent":{"passed":true}})" : R"({"content":[]})");
  };
  return options;
}

}  // namespace sallyport::test
