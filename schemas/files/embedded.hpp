// The texts of *.schema.json, built into the binary (cmake/embed.cmake writes the definition).
#pragma once

#include <string_view>

namespace sallyport::schema {

// By file name (`trust.schema.json`); empty if there is none of that name. Lives as long as the program.
[[nodiscard]] std::string_view embedded_file(std::string_view name);

}  // namespace sallyport::schema
