#include <vector>

#include "policy/conditions/truth.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
}

// Every ASCII character but letters and digits escaped: PCRE2 then takes each for itself.
std::string quoted_for_pattern(std::string_view value) {
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || byte >= 0x80;
    if (!plain) out += '\\';
    out += c;
  }
  return out;
}

void unknown_variable(json::Value text, std::string_view name, const CompileContext& context) {
  std::vector<std::string> known;
  for (const auto& [key, value] : *context.variables) known.push_back(key);
  std::string message = "unknown variable `" + visible(name) + "`";
  const auto near = nearest(name, known);
  message += near ? ": did you mean `" + *near + "`?" : ": add it to `vars` of the config";
  context.faults.error(text, std::move(message));
}

}  // namespace

std::string expand(json::Value text, const CompileContext& context, bool quoted) {
  const std::string source = text.string();
  if (context.variables == nullptr) return source;
  std::string out;
  std::size_t done = 0;
  while (true) {
    const std::size_t open = source.find("${", done);
    if (open == std::string::npos) break;
    std::size_t end = open + 2;
    while (end < source.size() && is_name_char(source[end])) ++end;
    out.append(source, done, open - done);
    if (end == open + 2 || end >= source.size() || source[end] != '}') {
      context.faults.error(text, "`${` without a variable's name and `}`: write `${name}` for a member of `vars`");
      return source;
    }
    const std::string_view name = std::string_view(source).substr(open + 2, end - open - 2);
    const auto found = context.variables->find(name);
    if (found == context.variables->end()) {
      unknown_variable(text, name, context);
    } else {
      out += quoted ? quoted_for_pattern(found->second) : found->second;
    }
    done = end + 1;
  }
  out.append(source, done);
  return out;
}

}  // namespace sallyport::policy
