// Calls for `lint --call`: through the gateway's own way of a call (Calls), since nothing else may reach a server. A
// rulebook made for the purpose allows reads and nothing else; its store is thrown away.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <string>
#include <vector>

#include "gateway/app/lint.hpp"
#include "gateway/catalogue/catalogue.hpp"
#include "gateway/ports/server_link.hpp"

namespace sallyport::gateway {

struct LintCalls {
  LintFindings findings;
  std::size_t called = 0;
};

// Calls each of the tools (lint_callable) once, without arguments, and judges what comes. The catalogue gets other
// rules. `tools` are of the server `id` and live as long as this runs.
asio::awaitable<Result<LintCalls>> lint_calls(catalogue::Catalogue& catalogue, Servers& servers, std::string id,
                                              std::vector<json::Value> tools);

}  // namespace sallyport::gateway
