#include "gateway/cli/qr.hpp"

#include <qrencode.h>

#include <memory>

namespace sallyport::gateway::cli {
namespace {

constexpr int kQuiet = 2;  // light modules around it

}  // namespace

std::string qr_text(std::string_view content) {
  const std::string text(content);
  const std::unique_ptr<QRcode, void (*)(QRcode*)> code(QRcode_encodeString8bit(text.c_str(), 0, QR_ECLEVEL_L),
                                                        QRcode_free);
  if (!code) return {};
  const int width = code->width;
  const auto light = [&](int x, int y) {
    if (x < 0 || y < 0 || x >= width || y >= width) return true;
    return (code->data[y * width + x] & 1U) == 0;
  };
  std::string out;
  for (int y = -kQuiet; y < width + kQuiet; y += 2) {
    for (int x = -kQuiet; x < width + kQuiet; ++x) {
      const bool upper = light(x, y);
      const bool lower = light(x, y + 1);
      out += upper && lower ? "\u2588" : upper ? "\u2580" : lower ? "\u2584" : " ";
    }
    out += '\n';
  }
  return out;
}

}  // namespace sallyport::gateway::cli
