// What a change of a definition leaves in the log (design section 4, drift).
#pragma once

#include <optional>

#include "gateway/catalogue/catalogue.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::gateway {

// `blank` of kind definition, filled. nullopt: nothing to note, a tool is seen for the first time and is as expected.
[[nodiscard]] std::optional<trust::ReceiptBody> definition_receipt(trust::ReceiptBody blank,
                                                                   const catalogue::DefinitionChange& change);

}  // namespace sallyport::gateway
