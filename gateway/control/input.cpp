#include "gateway/control/input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::uint32_t kDepth = 130;  // arguments of a call may be 128 deep

}  // namespace

std::optional<std::string> form_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    int byte = 0;
    if (i + 2 >= text.size()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
    if (error != std::errc{} || end != text.data() + i + 3 || byte < 0) return std::nullopt;
    out += static_cast<char>(byte);
    i += 2;
  }
  if (!valid_utf8(out)) return std::nullopt;
  return out;
}

Input::Input(const HttpRequest& request) : is_query_(request.method != "POST") {
  if (is_query_) {
    read_query(request.query);
  } else {
    if (!request.query.empty()) fault("a POST takes no query");
    read_body(request.body);
  }
}

void Input::fault(std::string message) {
  if (fault_.empty()) fault_ = std::move(message);
}

void Input::read_query(std::string_view query) {
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view pair = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    const std::size_t equals = pair.find('=');
    auto name = form_decode(pair.substr(0, equals));
    auto value = equals == std::string_view::npos ? std::string() : form_decode(pair.substr(equals + 1));
    if (!name || !value) return fault("the query is not well encoded");
    if (!query_.emplace(*name, std::move(*value)).second) {
      return fault(fmt::format("`{}` occurs twice in the query", visible(*name)));
    }
  }
}

void Input::read_body(const std::string& body) {
  auto document = json::Document::parse(body.empty() ? "{}" : body, {.bytes = body.size() + 2, .depth = kDepth});
  if (!document) return fault("the body is no JSON: " + document.error().message);
  body_ = std::make_unique<json::Document>(std::move(*document));
  if (!body_->root().is_object()) return fault("the body must be a JSON object");
  if (const auto mark = body_->root().ambiguity()) {
    fault(fmt::format("the body cannot be read in one way only, at {}",
                      mark->pointer.empty() ? "its root" : visible(mark->pointer)));
  }
}

json::Value Input::member(std::string_view name) {
  asked_.emplace(name);
  return body_ && fault_.empty() ? body_->root().find(name) : json::Value();
}

std::string Input::text(std::string_view name, Need need, std::size_t most) {
  std::string out;
  if (is_query_) {
    asked_.emplace(name);
    if (const auto found = query_.find(name); found != query_.end()) out = found->second;
  } else if (const json::Value value = member(name)) {
    if (!value.is_string())
      fault(fmt::format("`{}` must be a text", name));
    else
      out = value.string();
  }
  if (need == Need::required && out.empty()) fault(fmt::format("`{}` is missing", name));
  if (out.size() > most) fault(fmt::format("`{}` is longer than {} bytes", name, most));
  return out;
}

std::uint32_t Input::count(std::string_view name, std::uint32_t otherwise, std::uint32_t most) {
  const std::string value = text(name);
  if (value.empty()) return otherwise;
  std::uint32_t out = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
  if (error != std::errc{} || end != value.data() + value.size() || out == 0 || out > most) {
    fault(fmt::format("`{}` must be a whole number from 1 to {}", name, most));
  }
  return out;
}

bool Input::flag(std::string_view name) {
  const json::Value value = member(name);
  if (value && !value.is_bool()) fault(fmt::format("`{}` must be true or false", name));
  return value && value.is_bool() && value.boolean();
}

std::vector<json::Value> Input::list(std::string_view name, std::size_t most) {
  const json::Value value = member(name);
  if (!value) return {};
  std::vector<json::Value> out;
  if (value.is_array()) {
    for (const json::Value item : value.elements()) out.push_back(item);
  }
  if (!value.is_array() || !std::ranges::all_of(out, [](json::Value item) { return item.is_object(); }))
    fault(fmt::format("`{}` must be a list of objects", name));
  if (out.size() > most) fault(fmt::format("`{}` has more than {} elements", name, most));
  if (!fault_.empty()) return {};
  return out;
}

std::string Input::text_in(json::Value object, std::string_view name) {
  const json::Value value = object.find(name);
  if (value && value.is_string()) return value.string();
  fault(fmt::format("`{}` must be a text in each element", name));
  return {};
}

std::string Input::object(std::string_view name, std::string_view otherwise) {
  const json::Value value = member(name);
  if (!value) return std::string(otherwise);
  if (!value.is_object()) fault(fmt::format("`{}` must be an object", name));
  return std::string(value.raw());
}

std::string Input::optional_object(std::string_view name) { return member(name) ? object(name) : std::string(); }

Status Input::done() {
  std::vector<std::string> known(asked_.begin(), asked_.end());
  const auto judge = [&](const std::string& name) {
    if (asked_.contains(name)) return;
    const auto near = nearest(name, known);
    fault(fmt::format("`{}` is not known here{}", visible(name), near ? "; did you mean `" + *near + "`?" : ""));
  };
  for (const auto& [name, value] : query_) judge(name);
  if (body_ && fault_.empty()) {
    for (const json::Member member : body_->root().members()) judge(member.name());
  }
  if (fault_.empty()) return {};
  return fail(ErrorCode::invalid, fault_, ErrorSource::client);
}

}  // namespace sallyport::gateway
