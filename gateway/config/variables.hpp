// `${NAME}` in strings of sallyport.jsonc (design section 4). Replaced after parsing, once: a value cannot change the
// structure of the file, nor bring further references in. Messages name variables, never their values.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sallyport::gateway {

using Environment = std::function<std::optional<std::string>(const std::string& name)>;

struct Expanded {
  std::string text;
  std::string problem;  // empty: none. What is wrong and what to do; `text` is then of no use
};

// Forms: `${NAME}` (a member of `vars`, else of the environment), `${env:NAME}` (of the environment alone),
// `${NAME:-default}` and `${env:NAME:-default}` (where it is unset or empty), `$${` for a literal `${`.
// Any other `$` stands for itself. `vars` null: the environment alone (for `vars` themselves).
[[nodiscard]] Expanded expand_variables(std::string_view text, const std::map<std::string, std::string>* vars,
                                        const Environment& environment);

// The text with `${` written so that expand_variables gives it back as it is.
[[nodiscard]] std::string literal_text(std::string text);

// Whether ${NAME} can name it: a letter or `_`, then letters, digits, `_`, `-` and `.`, at most 100.
[[nodiscard]] bool is_variable_name(std::string_view name);

}  // namespace sallyport::gateway
