// Page: one page of a server's list of prompts, resources or resource templates.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/base/deadline.hpp"
#include "gateway/ports/server_link.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::gateway::relay {

enum class Kind : unsigned char { prompts, resources, templates };

struct KindWords {
  std::string_view method;  // of the list
  std::string_view member;  // of its result
  std::string_view name;    // the member of an element that tells it from others
};
[[nodiscard]] const KindWords& words_of(Kind kind);

struct Page {
  std::shared_ptr<const json::Document> document;  // owns the rest
  json::Value result;
  std::vector<json::Value> items;       // objects with a name that can be read in one way
  bool whole = true;                    // items are all elements of the list
  std::string next;                     // raw token of the server's cursor; empty: the last page
  std::optional<Deadline> fresh_until;  // as a modern server says; absent: it may change at any time
};

}  // namespace sallyport::gateway::relay
