#include "gateway/calls/last_call.hpp"

#include <boost/json.hpp>

#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::calls {
namespace bj = boost::json;

std::string last_owner(const OperationRow& row) {
  return "last " + row.server + "/" + quote(row.tool) + "/" + row.scope;
}

LastCall read_last(const std::string& bytes) {
  if (bytes.empty()) return {};
  const auto document = json::Document::parse(bytes, json::Limits{.bytes = bytes.size(), .depth = 10'000});
  if (!document) return {};
  const json::Value operation = document->root().find("operation");
  const json::Value at = document->root().find("at");
  const json::Value arguments = document->root().find("arguments");
  if (!operation.is_string() || !at.is_number() || !arguments) return {};
  return {operation.string(), at.integer().value_or(0), std::string(arguments.raw())};
}

Status keep_last(Tx& tx, const OperationRow& row, json::Value arguments) {
  const std::string bytes = "{\"arguments\":" + (arguments ? std::string(arguments.raw()) : std::string("{}")) +
                            ",\"at\":" + std::to_string(row.updated) + ",\"operation\":" + quote(row.id) + "}";
  return tx.put_sealed(last_owner(row), "last", bytes);
}

std::string without_values(const std::string& view) {
  bj::value parsed = bj::parse(view);
  for (const char* name : {"arguments", "difference", "forwarded", "idempotencyKey", "salt"})
    parsed.as_object().erase(name);
  return json::canonical(parsed);
}

std::string whole_view(Tx& tx, const ApprovalRow& row) {
  auto kept = tx.sealed(row.operation, "view");
  // Of an operation that asked more than once, the newest page is kept.
  if (kept && kept->find("\"approval\":" + quote(row.id)) != std::string::npos) return std::move(*kept);
  return row.view;
}

Status drop_arguments(Tx& tx, const std::string& operation) {
  if (auto dropped = tx.drop_sealed(operation, "view"); !dropped) return dropped;
  return tx.drop_sealed(operation, "params");
}

}  // namespace sallyport::gateway::calls
