// Apart from canonical.hpp, which much more includes.
#pragma once

#include "schemas/core/json.hpp"

namespace sallyport::json {

// Whether the whole text is already its own canonical form: the same as comparing with canonical(), in a quarter of the
// time.
[[nodiscard]] bool is_canonical(const Document& document);

}  // namespace sallyport::json
