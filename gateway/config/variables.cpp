#include "gateway/config/variables.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Names that editors fill in, and we cannot.
std::string editor_words(std::string_view name) {
  if (name.starts_with("input:")) {
    return fmt::format(
        "the value `{}` is asked for by an editor: write ${{NAME}} and set NAME in the environment or under `vars`",
        visible(name));
  }
  return fmt::format("`{}` is a variable of an editor: write the value, or ${{NAME}} with NAME under `vars`",
                     visible(name));
}

struct Reference {
  std::string name;
  bool environment_only = false;
  std::optional<std::string> fallback;
  std::string problem;
};

Reference parse_reference(std::string_view body) {
  Reference reference;
  const auto dash = body.find(":-");
  if (dash != std::string_view::npos) {
    reference.fallback = std::string(body.substr(dash + 2));
    body = body.substr(0, dash);
    if (reference.fallback->find("${") != std::string::npos) {
      reference.problem = "a default cannot hold another variable: write its value";
      return reference;
    }
  }
  if (body.starts_with("env:")) {
    reference.environment_only = true;
    body.remove_prefix(4);
  } else if (body.find(':') != std::string_view::npos) {
    reference.problem = editor_words(body);
    return reference;
  }
  if (!is_variable_name(body)) {
    reference.problem =
        fmt::format("`${{{}}}` names no variable: write `$${{` if the text itself is meant", visible(body));
  }
  reference.name = std::string(body);
  return reference;
}

std::optional<std::string> look_up(const Reference& reference, const std::map<std::string, std::string>* vars,
                                   const Environment& environment) {
  if (!reference.environment_only && vars != nullptr) {
    if (const auto at = vars->find(reference.name); at != vars->end()) return at->second;
  }
  return environment(reference.name);
}

}  // namespace

std::string literal_text(std::string text) {
  for (std::size_t at = 0; (at = text.find("${", at)) != std::string::npos; at += 3) text.insert(at, "$");
  return text;
}

bool is_variable_name(std::string_view name) {
  if (name.empty() || name.size() > 100 || !is_letter(name.front())) return false;
  return std::all_of(name.begin(), name.end(),
                     [](char c) { return is_letter(c) || is_digit(c) || c == '-' || c == '.'; });
}

Expanded expand_variables(std::string_view text, const std::map<std::string, std::string>* vars,
                          const Environment& environment) {
  Expanded out;
  while (!text.empty()) {
    const auto dollar = text.find('$');
    out.text.append(text.substr(0, dollar));
    if (dollar == std::string_view::npos) break;
    text.remove_prefix(dollar);
    if (text.starts_with("$${")) {
      out.text += "${";
      text.remove_prefix(3);
      continue;
    }
    if (!text.starts_with("${")) {
      out.text += '$';
      text.remove_prefix(1);
      continue;
    }
    const auto end = text.find('}');
    if (end == std::string_view::npos) {
      out.problem = "a `${` has no `}`: close it, or write `$${` if the text itself is meant";
      return out;
    }
    const Reference reference = parse_reference(text.substr(2, end - 2));
    text.remove_prefix(end + 1);
    if (!reference.problem.empty()) {
      out.problem = reference.problem;
      return out;
    }
    std::optional<std::string> value = look_up(reference, vars, environment);
    if (reference.fallback && (!value || value->empty())) value = reference.fallback;
    if (!value) {
      const bool of_editor = reference.name.starts_with("workspaceFolder") || reference.name == "userHome";
      out.problem =
          of_editor ? editor_words(reference.name)
          : reference.environment_only || vars == nullptr
              ? fmt::format(
                    "the environment variable `{}` is not set: set it, or give a default with "
                    "${{{}:-…}}",
                    reference.name, reference.name)
              : fmt::format("the variable `{}` is not set: set it under `vars` or in the environment", reference.name);
      return out;
    }
    out.text += *value;
  }
  return out;
}

}  // namespace sallyport::gateway
