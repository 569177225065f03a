// `receipts duplicates`: which calls may have been carried out more than once, from fingerprints, recorded values and
// outcomes (design section 6).
#pragma once

#include "gateway/cli/command_line.hpp"
#include "gateway/cli/terminal.hpp"
#include "gateway/storage/sqlite_store.hpp"

namespace sallyport::gateway {

// kNo: there are such calls.
[[nodiscard]] int duplicates_command(const cli::Invocation& invocation, ReadOnlyStore& store, cli::Terminal& terminal);

}  // namespace sallyport::gateway
