// The scan, the forms and the comparison on any bytes: no crash, no hang, and what must hold of every accepted text. A
// second parser must accept and refuse the same.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/is_canonical.hpp"
#include "schemas/core/json.hpp"

namespace {

using namespace sallyport;

void require(bool holds, const char* what) {
  if (holds) return;
  fmt::print(stderr, "does not hold: {}\n", what);
  std::abort();
}

constexpr json::Limits kLimits{.depth = 1000};

void check_second_parser(const std::string& text, bool accepted) {
  boost::json::parse_options options;
  options.max_depth = 1001;
  boost::json::error_code error;
  (void)boost::json::parse(text, error, {}, options);
  // They count depth differently at the edge and cannot hold every exponent.
  if (error == boost::json::error::exponent_overflow || error == boost::json::error::too_deep) return;
  require(accepted == !error, "both parsers agree");
}

void check_value(json::Value value, const json::Document& document) {
  const auto slice = json::Document::parse(std::string(value.raw()), kLimits);
  require(slice && slice->node_count() == value.next_index() - value.index(), "a slice is its own document");
  if (value.is_string()) {
    require(value.equals(value.string()), "a string equals its decoded text");
    require(json::Document::parse(quote(value.string())).has_value(), "quoted text is a string");
    require(fold(value.string()).has_value(), "strings fold");
    require(!has_hidden(visible(value.string())), "visible text hides nothing");
  }
  if (value.is_number()) {
    (void)value.real();
    const auto integer = value.integer();
    if (integer) {
      const auto plain = json::Document::parse(fmt::format("{}", *integer));
      require(json::same(plain->root(), value), "an integer is its number");
    }
  }
  if (!document.root().ambiguity()) {
    const auto found = document.root().at(value.pointer()).index();
    require(found == value.index() || found == value.index() + 1, "a pointer leads back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto document = json::Document::parse(text, kLimits);
  check_second_parser(text, document.has_value());
  (void)json::Document::parse(text, {.depth = 1000, .comments = true});
  (void)fold(text);
  (void)visible(text);
  if (!document) {
    require(document.error().message.find(" at line ") != std::string::npos, "a refusal tells its place");
    return 0;
  }
  const auto root = document->root();
  const auto form = json::canonical(root);
  const auto again = json::Document::parse(form, kLimits);
  require(again.has_value() && json::canonical(again->root()) == form, "a canonical form is its own");
  require(json::is_canonical(*again), "a canonical form is known as one");
  require(json::is_canonical(*document) == (form == document->text()), "only a canonical form is known as one");
  require(json::same(root, again->root()), "a canonical form is the same value");
  const auto neat = json::Document::parse(json::pretty(root), {.bytes = 256U << 20, .depth = 1000});
  require(neat.has_value() && json::same(root, neat->root()), "a pretty form is the same value");
  const auto nodes = std::min<std::size_t>(document->node_count(), 200);
  for (std::uint32_t i = 0; i < nodes; ++i) check_value(document->node(i), *document);
  return 0;
}
