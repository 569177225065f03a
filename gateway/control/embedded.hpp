// Files of console/, built in by cmake/embed.cmake.
#pragma once

#include <string_view>

namespace sallyport::gateway {

[[nodiscard]] std::string_view console_file(std::string_view name);  // empty: no such file

}  // namespace sallyport::gateway
