#include "gateway/config/load.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>

#include "gateway/config/decoder.hpp"
#include "gateway/config/own_file.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/files/judge.hpp"

namespace sallyport::gateway {

json::Value Decoder::member(json::Value object, std::string_view name, json::Kind kind) {
  if (!object || !object.is_object()) return {};
  const json::Value value = object.find(name);
  return value && value.kind() == kind ? value : json::Value();
}

bool Decoder::flag(json::Value object, std::string_view name, bool otherwise) {
  const json::Value value = member(object, name, json::Kind::boolean);
  return value ? value.boolean() : otherwise;
}

std::optional<std::string> Decoder::text(json::Value value) {
  Expanded expanded = expand_variables(value.string(), &vars, environment);
  if (expanded.problem.empty() && expanded.text.find('\0') != std::string::npos)
    expanded.problem = "a NUL has no place here";
  if (expanded.problem.empty()) return std::move(expanded.text);
  faults.error(value, expanded.problem);
  return std::nullopt;
}

std::string Decoder::text_member(json::Value object, std::string_view name) {
  const json::Value value = member(object, name, json::Kind::string);
  return value ? text(value).value_or("") : std::string();
}

std::string Decoder::path(json::Value value, const std::string& text) {
  if (text.empty()) {
    faults.error(value, "the path is empty: write one or leave the member out");
    return {};
  }
  if (text == "~" || text.starts_with("~/")) {
    faults.error(value, "`~` is not replaced: write ${HOME}");
    return {};
  }
  return resolve_path(base, text);
}

std::string Decoder::path_member(json::Value object, std::string_view name) {
  const json::Value value = member(object, name, json::Kind::string);
  if (!value) return {};
  const auto expanded = text(value);
  return expanded ? path(value, *expanded) : std::string();
}

Millis Decoder::duration(json::Value object, std::string_view name, Millis otherwise) {
  const json::Value value = member(object, name, json::Kind::string);
  if (!value) return otherwise;
  const auto written = text(value);
  return written ? parsed_duration(value, *written, otherwise) : otherwise;
}

Millis Decoder::parsed_duration(json::Value value, const std::string& written, Millis otherwise) {
  if (const auto parsed = parse_duration(written)) return *parsed;
  faults.error(value,
               fmt::format("`{}` is no duration: write a whole number and a unit, like 300ms, 45s, 10m, 24h or 7d",
                           visible(written)));
  return otherwise;
}

std::vector<std::string> Decoder::texts(json::Value object, std::string_view name) {
  std::vector<std::string> texts;
  const json::Value list = member(object, name, json::Kind::array);
  if (!list) return texts;
  for (const json::Value one : list.elements()) {
    if (!one.is_string()) continue;
    if (auto expanded = text(one)) texts.push_back(std::move(*expanded));
  }
  return texts;
}

std::vector<std::string> Decoder::names(json::Value object, std::string_view name) {
  std::vector<std::string> names;
  const json::Value list = member(object, name, json::Kind::array);
  if (!list) return names;
  for (const json::Value one : list.elements()) {
    if (!one.is_string()) continue;
    auto expanded = text(one);
    if (!expanded) continue;
    if (const std::string why = bad_id(*expanded); !why.empty()) {
      faults.error(one, why);
    } else if (std::find(names.begin(), names.end(), *expanded) != names.end()) {
      faults.error(one, fmt::format("`{}` stands twice: leave one out", *expanded));
    } else {
      names.push_back(std::move(*expanded));
    }
  }
  return names;
}

std::string bad_id(std::string_view id) {
  if (id.empty()) return "the name is empty: write one";
  if (id.size() > 200) return "the name is longer than 200 bytes: write a shorter one";
  if (has_hidden(id))
    return fmt::format("the name `{}` holds characters that cannot be seen: leave them out", visible(id));
  if (id.front() == ' ' || id.back() == ' ')
    return fmt::format("the name `{}` begins or ends with a space: leave it out", id);
  if (id.find('*') != std::string_view::npos)
    return fmt::format("the name `{}` holds a `*`, which means a prefix in rules", id);
  return {};
}

namespace {

// `vars` may be made of the environment, not of each other: there is no order in which they could be replaced.
void decode_vars(json::Value root, Decoder& decoder) {
  const json::Value vars = Decoder::member(root, "vars", json::Kind::object);
  if (!vars) return;
  for (const json::Member member : vars.members()) {
    const std::string name = member.name();
    if (!is_variable_name(name)) {
      decoder.faults.error(
          member.key,
          fmt::format("`{}` cannot be named by ${{…}}: use letters, digits, `_`, `-` and `.`", visible(name)));
    }
    if (!member.value.is_string()) continue;
    const Expanded expanded = expand_variables(member.value.string(), nullptr, decoder.environment);
    if (expanded.problem.empty()) {
      decoder.vars[name] = expanded.text;
    } else {
      decoder.faults.error(member.value, expanded.problem);
      decoder.vars[name] = "";  // named: its uses are no further faults
    }
  }
}

template <class T>
void decode_limit(json::Value limits, std::string_view name, T& out) {
  const json::Value value = Decoder::member(limits, name, json::Kind::number);
  const auto number = value ? value.integer() : std::nullopt;
  if (number && *number >= 0 && static_cast<std::uint64_t>(*number) <= std::numeric_limits<T>::max()) {
    out = static_cast<T>(*number);
  }
}

void decode_limits(json::Value root, LimitSettings& limits) {
  const json::Value from = Decoder::member(root, "limits", json::Kind::object);
  decode_limit(from, "messageBytes", limits.message_bytes);
  decode_limit(from, "resultBytes", limits.result_bytes);
  decode_limit(from, "depth", limits.depth);
  decode_limit(from, "sessions", limits.sessions);
  decode_limit(from, "children", limits.children);
  decode_limit(from, "waitingApprovals", limits.waiting_approvals);
  decode_limit(from, "callsInFlight", limits.calls_in_flight);
}

void decode_receipts(json::Value root, Decoder& decoder, Settings& settings) {
  const json::Value receipts = Decoder::member(root, "receipts", json::Kind::object);
  if (!receipts) return;
  settings.retention = decoder.duration(receipts, "retention", settings.retention);
  const json::Value anchor = Decoder::member(receipts, "anchor", json::Kind::object);
  if (!anchor) return;
  settings.anchor_file = decoder.path_member(anchor, "file");
  settings.anchor_command = decoder.texts(anchor, "command");
  settings.anchor_newest = decoder.texts(anchor, "newest");
  const bool file = static_cast<bool>(anchor.find("file"));
  const bool command = static_cast<bool>(anchor.find("command"));
  if (file == command) decoder.faults.error(anchor, "an anchor is a `file` or a `command`: write one of them");
  if (anchor.find("newest") && !command) {
    decoder.faults.error(anchor.find("newest"), "`newest` goes with `command`: a file is read by itself");
  }
}

// The text of an inline trust or policy, moved to the line and column where it stands, so that its faults name the
// place.
std::string inline_text(json::Value value) {
  const json::Position place = value.position();
  std::string text(place.line - 1, '\n');
  text.append(place.column - 1, ' ');
  text.append(value.raw());
  return text;
}

void decode_rules(json::Value root, std::string_view name, Decoder& decoder, std::vector<std::string>& files,
                  std::string& inline_rules) {
  const json::Value value = root.find(name);
  if (!value) return;
  if (value.is_object()) {
    inline_rules = inline_text(value);
    return;
  }
  const auto add = [&](json::Value one) {
    const auto text = decoder.text(one);
    if (!text) return;
    const std::string path = decoder.path(one, *text);
    if (path.empty()) return;
    if (std::find(files.begin(), files.end(), path) != files.end()) {
      decoder.faults.error(one, fmt::format("`{}` stands twice: leave one out", visible(*text)));
    } else {
      files.push_back(path);
    }
  };
  if (value.is_string()) return add(value);
  if (!value.is_array()) return;
  for (const json::Value one : value.elements()) {
    if (one.is_string()) add(one);
  }
}

void decode_state(json::Value root, const SettingsRequest& request, Decoder& decoder, Settings& settings) {
  const std::string state = decoder.path_member(root, "state");
  settings.state_dir = !request.state.empty() ? request.state : !state.empty() ? state : request.default_state;
  const bool unsaid = !root.is_object() || !root.find("state");
  if (settings.state_dir.empty() && unsaid) {
    decoder.faults.error(root, "no state folder: write \"state\", or set HOME or XDG_STATE_HOME");
  }
  const bool inside = !settings.anchor_file.empty() && settings.anchor_file.starts_with(settings.state_dir + "/");
  if (inside) {
    decoder.faults.warning(
        root.find("receipts"),
        "the anchor lies in the state folder, where whoever changes receipts can change it too: put it "
        "on another machine or under another user");
  }
}

}  // namespace

LoadedSettings load_settings(const SettingsRequest& request, const Environment& environment, const FileReader& files) {
  LoadedSettings loaded;
  const auto own = request.text ? parse_own(*request.text, request.file, loaded.faults)
                                : read_own(request.file, files, loaded.faults);
  if (!own) return loaded;
  loaded.faults = schema::judge(schema::FileKind::settings, *own->document, request.file);

  Settings settings;
  settings.file = request.file;
  const json::Value root = own->document->root();
  Decoder decoder(request.file, request.base.empty() ? folder_of(request.file) : request.base, environment, files);
  decoder.former = &request.former;
  if (root.is_object()) {
    decode_vars(root, decoder);
    settings.vars = decoder.vars;
    decode_servers(root, decoder, settings);
    decode_access(root, decoder, settings);
    decode_listeners(root, decoder, settings);
    decode_notify(root, decoder, settings);
    if (request.port) settings.listen.port = *request.port;
    if (request.control_port) settings.control.port = *request.control_port;
    decode_limits(root, settings.limits);
    if (const json::Value run = Decoder::member(root, "run", json::Kind::object))
      settings.run_evidence = decoder.names(run, "evidence");
    decode_receipts(root, decoder, settings);
    decode_rules(root, "trust", decoder, settings.trust_files, settings.trust_inline);
    decode_rules(root, "policy", decoder, settings.policy_files, settings.policy_inline);
    decode_state(root, request, decoder, settings);
    // The machine's file lies beside the people's.
    settings.lock_file = resolve_path(request.file.empty() ? settings.state_dir : decoder.base, "trust.lock.json");
  }
  for (Fault& fault : decoder.faults.take()) loaded.faults.push_back(std::move(fault));
  sort_faults(loaded.faults);
  if (!has_errors(loaded.faults)) loaded.settings = settings;
  loaded.readable = std::move(settings);
  return loaded;
}

}  // namespace sallyport::gateway
