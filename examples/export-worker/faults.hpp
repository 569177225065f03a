// Faults to order, by tool: what a flag of the command line asks for.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>

namespace export_worker {

// How many of a tool's calls a fault meets, counted in the state file so that a new process goes on counting.
constexpr int kEvery = -1;

struct Faults {
  std::map<std::string, int> lose_answer;                  // done, never answered
  std::map<std::string, int> repeat_answer;                // done, answered twice
  std::map<std::string, int> crash;                        // done and saved, then the process ends without an answer
  std::map<std::string, int> crash_before;                 // not done, the process ends
  std::map<std::string, int> error;                        // not done, answered with isError
  std::map<std::string, int> error_after;                  // done, answered with isError all the same
  std::map<std::string, int> transient;                    // not done, answered with the JSON-RPC error -32050
  std::map<std::string, std::chrono::milliseconds> delay;  // done at once, answered late
  bool blind_lookup = false;                               // lookup_export finds nothing, whatever there is
};

constexpr int kTransientError = -32050;

// False with `wrong` set where a flag is unknown or its value is none.
bool parse_flags(int argc, char** argv, Faults& faults, std::string& state, std::string& wrong);

}  // namespace export_worker
