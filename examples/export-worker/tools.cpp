#include "tools.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

namespace export_worker {

namespace {

constexpr std::string_view kDefinitions = R"json([
  {
    "name": "read_config",
    "title": "Read the export configuration",
    "description": "Returns the configuration that exports run with, and its revision.",
    "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
    "outputSchema": {
      "type": "object",
      "properties": { "config": { "type": ["object", "null"] }, "revision": { "type": "integer" } },
      "required": ["config", "revision"]
    },
    "annotations": { "readOnlyHint": true, "openWorldHint": false }
  },
  {
    "name": "write_config",
    "title": "Replace the export configuration",
    "description": "Replaces the configuration that exports run with. Check it with check_config afterwards.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "format": { "type": "string", "enum": ["csv", "json", "parquet"], "description": "File format of the export." },
        "destination": { "type": "string", "minLength": 1, "maxLength": 200, "description": "Folder, such as exports/daily." },
        "max_retries": { "type": "integer", "minimum": 0, "maximum": 10, "description": "How often a failed part is tried again." },
        "compress": { "type": "boolean", "default": false }
      },
      "required": ["format", "destination", "max_retries"],
      "additionalProperties": false
    },
    "outputSchema": { "type": "object", "properties": { "revision": { "type": "integer" } }, "required": ["revision"] },
    "annotations": { "readOnlyHint": false, "destructiveHint": true, "idempotentHint": true, "openWorldHint": false }
  },
  {
    "name": "check_config",
    "title": "Check the export configuration",
    "description": "Checks the present configuration and says whether an export could run with it.",
    "inputSchema": { "type": "object", "properties": {}, "additionalProperties": false },
    "outputSchema": {
      "type": "object",
      "properties": {
        "passed": { "type": "boolean" },
        "problems": { "type": "array", "items": { "type": "string" } },
        "revision": { "type": "integer" }
      },
      "required": ["passed", "problems", "revision"]
    },
    "annotations": { "readOnlyHint": true, "openWorldHint": false }
  },
  {
    "name": "queue_export",
    "title": "Queue an export",
    "description": "Queues an export of a dataset with the present configuration. Two calls queue two exports, unless both carry the same request_id.",
    "inputSchema": {
      "type": "object",
      "properties": {
        "dataset": { "type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$", "description": "Name of the dataset." },
        "request_id": { "type": "string", "minLength": 1, "maxLength": 100, "description": "Names this request; the same one is queued once." }
      },
      "required": ["dataset"],
      "additionalProperties": false
    },
    "outputSchema": {
      "type": "object",
      "properties": { "export_id": { "type": "string" }, "status": { "type": "string" } },
      "required": ["export_id", "status"]
    },
    "annotations": { "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false }
  },
  {
    "name": "lookup_export",
    "title": "Look an export up",
    "description": "Finds the newest export with this export_id, request_id or dataset.",
    "inputSchema": {
      "type": "object",
      "properties": { "export_id": { "type": "string" }, "request_id": { "type": "string" }, "dataset": { "type": "string" } },
      "minProperties": 1,
      "additionalProperties": false
    },
    "outputSchema": {
      "type": "object",
      "properties": { "found": { "type": "boolean" }, "export_id": { "type": "string" }, "status": { "type": "string" } },
      "required": ["found"]
    },
    "annotations": { "readOnlyHint": true, "openWorldHint": false }
  },
  {
    "name": "publish",
    "title": "Publish an export",
    "description": "Makes a finished export public. This cannot be taken back.",
    "inputSchema": {
      "type": "object",
      "properties": { "export_id": { "type": "string", "minLength": 1 } },
      "required": ["export_id"],
      "additionalProperties": false
    },
    "outputSchema": { "type": "object", "properties": { "published": { "type": "boolean" } }, "required": ["published"] },
    "annotations": { "readOnlyHint": false, "destructiveHint": true, "openWorldHint": true }
  }
])json";

constexpr std::array<std::string_view, 6> kNames = {"read_config",  "write_config",  "check_config",
                                                    "queue_export", "lookup_export", "publish"};

void only(const json::object& arguments, std::initializer_list<std::string_view> names) {
  for (const auto& [key, value] : arguments) {
    if (std::ranges::find(names, std::string_view(key)) == names.end()) {
      throw WrongArguments("unknown argument " + std::string(key));
    }
  }
}

const json::value& needed(const json::object& arguments, std::string_view name) {
  const json::value* value = arguments.if_contains(name);
  if (value == nullptr) throw WrongArguments("missing argument " + std::string(name));
  return *value;
}

std::string text(const json::value& value, std::string_view name) {
  if (!value.is_string()) throw WrongArguments(std::string(name) + " must be a string");
  return std::string(value.get_string());
}

json::object write_config(const json::object& arguments, State& state) {
  only(arguments, {"format", "destination", "max_retries", "compress"});
  const std::string format = text(needed(arguments, "format"), "format");
  if (format != "csv" && format != "json" && format != "parquet") {
    throw WrongArguments("format must be csv, json or parquet");
  }
  text(needed(arguments, "destination"), "destination");
  if (!needed(arguments, "max_retries").is_int64()) throw WrongArguments("max_retries must be an integer");
  json::object config = arguments;
  config.emplace("compress", false);
  state.value()["config"] = std::move(config);
  state.value()["revision"] = state.value()["revision"].as_int64() + 1;
  return {{"revision", state.value()["revision"]}};
}

// What a schema cannot say: how the values go together.
json::array problems(State& state) {
  if (!state.value()["config"].is_object()) return {"there is no configuration yet"};
  const json::object& config = state.member("config");
  json::array found;
  const std::string destination = text(config.at("destination"), "destination");
  if (!destination.starts_with("exports/") || destination.find("..") != std::string::npos) {
    found.push_back("destination must lie under exports/");
  }
  if (config.at("max_retries").as_int64() > 5) found.push_back("max_retries above 5 would outlast the nightly window");
  if (config.at("format") == "parquet" && config.at("compress") == true)
    found.push_back("parquet is compressed already");
  return found;
}

json::object check_config(State& state) {
  json::array found = problems(state);
  return {{"passed", found.empty()}, {"problems", std::move(found)}, {"revision", state.value()["revision"]}};
}

json::object queue_export(const json::object& arguments, State& state) {
  only(arguments, {"dataset", "request_id"});
  const std::string dataset = text(needed(arguments, "dataset"), "dataset");
  const json::value* request = arguments.if_contains("request_id");
  if (request != nullptr) {
    const std::string id = text(*request, "request_id");
    for (const json::value& one : state.list("exports")) {
      if (one.at("request_id") != json::value(id)) continue;
      if (one.at("dataset") != json::value(dataset))
        throw Refused("request_id " + id + " was used for another dataset");
      return {{"export_id", one.at("export_id")}, {"status", one.at("status")}};
    }
  }
  if (!state.value()["config"].is_object()) throw Refused("there is no configuration to export with");
  const std::string id = "ex-" + std::to_string(state.list("exports").size() + 1);
  state.list("exports").push_back(json::object{{"export_id", id},
                                               {"dataset", dataset},
                                               {"request_id", request == nullptr ? json::value() : *request},
                                               {"revision", state.value()["revision"]},
                                               {"status", "queued"}});
  return {{"export_id", id}, {"status", "queued"}};
}

json::object lookup_export(const json::object& arguments, State& state, bool blind) {
  only(arguments, {"export_id", "request_id", "dataset"});
  if (arguments.empty()) throw WrongArguments("one of export_id, request_id, dataset is needed");
  const json::array& exports = state.list("exports");
  for (auto one = exports.rbegin(); !blind && one != exports.rend(); ++one) {
    const bool fits = std::ranges::all_of(
        arguments, [&](const json::key_value_pair& wanted) { return one->at(wanted.key()) == wanted.value(); });
    if (fits) return {{"found", true}, {"export_id", one->at("export_id")}, {"status", one->at("status")}};
  }
  return {{"found", false}};
}

json::object publish(const json::object& arguments, State& state) {
  only(arguments, {"export_id"});
  const std::string id = text(needed(arguments, "export_id"), "export_id");
  for (const json::value& one : state.list("exports")) {
    if (one.at("export_id") != json::value(id)) continue;
    state.list("published").push_back(json::value(id));
    return {{"published", true}};
  }
  throw Refused("there is no export " + id);
}

}  // namespace

json::array definitions() {
  static const json::array kParsed = json::parse(kDefinitions).as_array();
  return kParsed;
}

bool is_tool(std::string_view name) { return std::ranges::find(kNames, name) != kNames.end(); }

json::object run_tool(std::string_view name, const json::object& arguments, State& state, const Faults& faults) {
  json::object result;
  if (name == "read_config") {
    only(arguments, {});
    result = {{"config", state.value()["config"]}, {"revision", state.value()["revision"]}};
  } else if (name == "write_config") {
    result = write_config(arguments, state);
  } else if (name == "check_config") {
    only(arguments, {});
    result = check_config(state);
  } else if (name == "queue_export") {
    result = queue_export(arguments, state);
  } else if (name == "lookup_export") {
    result = lookup_export(arguments, state, faults.blind_lookup);
  } else {
    result = publish(arguments, state);
  }
  json::value& count = state.member("executions")[name];
  count = count.is_int64() ? count.get_int64() + 1 : 1;
  return result;
}

}  // namespace export_worker
