// The console's files, built into the binary (design section 11). Static: they hold nothing, the page asks the API with
// a credential that the person types and that lives in the page alone.
#pragma once

#include <optional>
#include <string_view>

#include "gateway/net/http.hpp"

namespace sallyport::gateway {

// Of one of the `page` routes; nullopt: there is no such file.
[[nodiscard]] std::optional<HttpResponse> console_answer(std::string_view path);

}  // namespace sallyport::gateway
