// A QR code as text, two modules a character high and one wide, for terminals: light is full blocks, as phones expect
// it on a dark terminal. Pure.
#pragma once

#include <string>
#include <string_view>

namespace sallyport::gateway::cli {

[[nodiscard]] std::string qr_text(std::string_view content);  // empty: too long for one

}  // namespace sallyport::gateway::cli
