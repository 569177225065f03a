// The six tools: what they say of themselves, and what they do to the state.
#pragma once

#include <boost/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

#include "faults.hpp"
#include "state.hpp"

namespace export_worker {

// The arguments do not fit: a JSON-RPC error -32602. A gateway in front refuses them earlier and says more.
struct WrongArguments : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The tool ran into what it is there to refuse (no configuration to export with): isError.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The array of tool objects, as tools/list sends it.
[[nodiscard]] json::array definitions();
[[nodiscard]] bool is_tool(std::string_view name);

// Does it once and counts it in `executions`; the caller saves. Returns the structured content.
[[nodiscard]] json::object run_tool(std::string_view name, const json::object& arguments, State& state,
                                    const Faults& faults);

}  // namespace export_worker
