// One of our own files as bytes to a document: encoding marks, emptiness and the scan's refusals become faults with
// place.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/config/files.hpp"
#include "schemas/core/fault.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::gateway {

struct OwnFile {
  std::string name;                                // as faults name it; empty: inline
  std::shared_ptr<const json::Document> document;  // keeps its address
};

// Comments and trailing commas are taken, a leading byte order mark is skipped. nullopt: `faults` says why.
[[nodiscard]] std::optional<OwnFile> parse_own(std::string text, const std::string& name, Faults& faults);

// Read and parse; a file that others may write is a fault.
[[nodiscard]] std::optional<OwnFile> read_own(const std::string& path, const FileReader& files, Faults& faults);

// A fault of the file as a whole, or at the place in which a message ends (`… at line L, column C`).
[[nodiscard]] Fault file_fault(const std::string& name, std::string message);

// By file, line and column; equal ones once.
void sort_faults(Faults& faults);

}  // namespace sallyport::gateway
