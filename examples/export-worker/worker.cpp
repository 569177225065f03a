#include "worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "tools.hpp"

namespace export_worker {

namespace {

constexpr std::array<std::string_view, 4> kProtocols = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr int kParseError = -32700, kInvalidRequest = -32600, kNoMethod = -32601, kInvalidParams = -32602,
              kInternalError = -32603;

json::object tool_result(const json::object& structured) {
  json::object text{{"type", "text"}, {"text", json::serialize(structured)}};
  return {{"content", json::array{std::move(text)}}, {"structuredContent", structured}};
}

json::object tool_error(std::string_view message) {
  json::object text{{"type", "text"}, {"text", message}};
  return {{"content", json::array{std::move(text)}}, {"isError", true}};
}

json::object initialize(const json::object& params) {
  std::string_view protocol = kProtocols.front();
  const json::value* wanted = params.if_contains("protocolVersion");
  if (wanted != nullptr && wanted->is_string()) {
    const std::string_view name = wanted->get_string();
    if (std::ranges::find(kProtocols, name) != kProtocols.end()) protocol = name;
  }
  return {{"protocolVersion", protocol},
          {"capabilities", json::object{{"tools", json::object{}}}},
          {"serverInfo", json::object{{"name", "export-worker"}, {"title", "Export worker"}, {"version", "1.0.0"}}},
          {"instructions", "Check the configuration with check_config before queue_export."}};
}

// Whether the fault meets this call; spends one of its calls.
bool strikes(const std::map<std::string, int>& fault, std::string_view name, std::string_view tool, State& state) {
  const auto found = fault.find(std::string(tool));
  if (found == fault.end()) return false;
  json::value& met = state.member("faults")[std::string(name) + " " + std::string(tool)];
  const std::int64_t count = met.is_int64() ? met.get_int64() : 0;
  if (found->second != kEvery && count >= found->second) return false;
  met = count + 1;
  return true;
}

const json::object& object_or_empty(const json::object& from, std::string_view name) {
  static const json::object kEmpty;
  const json::value* value = from.if_contains(name);
  return value != nullptr && value->is_object() ? value->get_object() : kEmpty;
}

}  // namespace

void Worker::read(std::string_view line, Time now) {
  boost::system::error_code wrong;
  const json::value message = json::parse(line, wrong);
  if (wrong) return fail(nullptr, kParseError, "not JSON", now);
  if (!message.is_object()) return fail(nullptr, kInvalidRequest, "not an object", now);
  const json::value* id = message.get_object().if_contains("id");
  if (id == nullptr) return;  // a notification: none matters here
  request(message.get_object(), *id, now);
}

void Worker::request(const json::object& message, const json::value& id, Time now) {
  const json::value* method = message.if_contains("method");
  if (method == nullptr || !method->is_string()) return;  // an answer, to a question never asked
  const std::string_view name = method->get_string();
  const json::object& params = object_or_empty(message, "params");
  if (name == "initialize") return send(id, "result", initialize(params), now, now);
  if (name == "ping") return send(id, "result", json::object{}, now, now);
  if (name == "tools/list") return send(id, "result", json::object{{"tools", definitions()}}, now, now);
  if (name == "tools/call") return call(params, id, now);
  fail(id, kNoMethod, "no such method", now);
}

void Worker::call(const json::object& params, const json::value& id, Time now) {
  const json::value* named = params.if_contains("name");
  if (named == nullptr || !named->is_string() || !is_tool(named->get_string())) {
    return fail(id, kInvalidParams, "no such tool", now);
  }
  const std::string name(named->get_string());
  try {
    State state(state_);
    const auto struck = [&](const auto& fault, std::string_view kind) {
      const bool yes = strikes(fault, kind, name, state);
      if (yes) state.save();
      return yes;
    };
    if (struck(faults_.crash_before, "crash-before")) ::_exit(3);
    if (struck(faults_.transient, "transient")) return fail(id, kTransientError, "busy, try again", now);
    if (struck(faults_.error, "error")) {
      return send(id, "result", tool_error("The export service refused; nothing was done."), now, now);
    }
    json::object done = tool_result(run_tool(name, object_or_empty(params, "arguments"), state, faults_));
    state.save();
    if (struck(faults_.crash, "crash")) ::_exit(3);
    if (struck(faults_.lose_answer, "lose-answer")) return;
    if (struck(faults_.error_after, "error-after")) done = tool_error("The export service failed.");
    const bool twice = struck(faults_.repeat_answer, "repeat-answer");
    const auto delay = faults_.delay.find(name);
    const Time due = delay == faults_.delay.end() ? now : now + delay->second;
    if (twice) send(id, "result", done, due, now);
    send(id, "result", std::move(done), due, now);
  } catch (const WrongArguments& wrong) {
    fail(id, kInvalidParams, wrong.what(), now);
  } catch (const Refused& refused) {
    send(id, "result", tool_error(refused.what()), now, now);
  } catch (const std::exception& broken) {
    fail(id, kInternalError, broken.what(), now);
  }
}

void Worker::send(const json::value& id, std::string_view member, json::value what, Time due, Time now) {
  const json::object message{{"jsonrpc", "2.0"}, {"id", id}, {member, std::move(what)}};
  std::string line = json::serialize(message) + "\n";
  if (due > now) {
    late_.emplace(due, std::move(line));
  } else {
    write_(line);
  }
}

void Worker::fail(const json::value& id, int code, std::string_view message, Time now) {
  send(id, "error", json::object{{"code", code}, {"message", message}}, now, now);
}

std::optional<Worker::Time> Worker::next_due() const {
  if (late_.empty()) return std::nullopt;
  return late_.begin()->first;
}

void Worker::write_due(Time now) {
  while (!late_.empty() && late_.begin()->first <= now) {
    write_(late_.begin()->second);
    late_.erase(late_.begin());
  }
}

}  // namespace export_worker
