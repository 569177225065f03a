#include "gateway/config/client_entry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "gateway/config/files.hpp"
#include "gateway/config/variables.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

namespace {

// What our own entries may hold (schemas/files/sallyport.schema.json). Those that grant are left out here already.
constexpr std::array<std::string_view, 10> kKnown{"type", "command", "args",    "env",      "envFile",
                                                  "cwd",  "url",     "headers", "disabled", "timeout"};

struct Member {
  std::string name;
  std::string text;  // JSON
};

class Taker {
 public:
  Taker(json::Value entry, const std::string& base, bool in_project)
      : entry_(entry), base_(base), in_project_(in_project) {}

  TakenEntry take(EntryShape shape) {
    if (shape == EntryShape::zed) from_zed();
    if (shape == EntryShape::opencode) from_opencode();
    if (shape == EntryShape::common) from_common();
    const bool usable = has("command") || has("url");
    if (!usable) out_.notes.emplace_back("it has neither a command nor an address: left out");
    if (in_project_ && has("command") && !has("cwd")) {
      add("cwd", quote(literal_text(base_)));
      note("`cwd` is added: the client starts it in that folder", true);
    }
    if (usable) out_.entry = changed_ ? rewritten() : std::string(entry_.raw());
    rename_references();
    return std::move(out_);
  }

 private:
  void note(std::string text, bool changes) {
    out_.notes.push_back(std::move(text));
    changed_ = changed_ || changes;
  }
  void add(std::string name, std::string text) { members_.push_back({std::move(name), std::move(text)}); }
  [[nodiscard]] bool has(std::string_view name) const {
    return std::any_of(members_.begin(), members_.end(), [&](const Member& member) { return member.name == name; });
  }

  void from_common() {
    for (const json::Member member : entry_.members()) {
      const std::string name = member.name();
      if (name == "command" || name == "envFile" || name == "cwd") {
        take_path(name, member.value);
      } else if (name == "serverUrl" || name == "httpUrl") {
        add("url", std::string(member.value.raw()));
        note(fmt::format("`{}` becomes `url`", name), true);
      } else if (std::find(kKnown.begin(), kKnown.end(), name) != kKnown.end()) {
        add(name, std::string(member.value.raw()));
      } else {
        leave_out(name);
      }
    }
    look_at_command(entry_.find("command"));
  }

  void leave_out(const std::string& name) {
    const bool grants = name == "autoApprove" || name == "alwaysAllow" || name == "trust";
    note(grants ? fmt::format("`{}` is left out: the policy file says what needs no question", name)
                : fmt::format("`{}` is left out: Sallyport does not know it", visible(name)),
         true);
  }

  // A relative path counted from the client's folder; here it would count from ours.
  void take_path(const std::string& name, json::Value value) {
    const std::string path = value.is_string() ? value.string() : std::string();
    const bool bare = name == "command" && path.find('/') == std::string::npos;
    if (path.empty() || bare || path.front() == '/' || path.starts_with("~") || path.find("${") != std::string::npos) {
      return add(name, std::string(value.raw()));
    }
    add(name, quote(literal_text(resolve_path(base_, path))));
    note(fmt::format("`{}` is made absolute", name), true);
  }

  void from_zed() {
    changed_ = true;
    const json::Value command = entry_.find("command");
    const json::Value parts = command && command.is_object() ? command : entry_;
    const std::string_view program = command && command.is_object() ? "path" : "command";
    if (const json::Value value = parts.find(program); value && value.is_string()) {
      take_path("command", value);
      look_at_command(value);
    }
    for (const std::string_view name : {"args", "env"}) {
      if (const json::Value value = parts.find(name)) add(std::string(name), std::string(value.raw()));
    }
    for (const std::string_view name : {"url", "headers"}) {
      if (const json::Value value = entry_.find(name)) add(std::string(name), std::string(value.raw()));
    }
    if (entry_.find("settings") && !has("command")) out_.notes.emplace_back("an extension of Zed starts it");
  }

  void from_opencode() {
    changed_ = true;
    const json::Value command = entry_.find("command");
    if (command && command.is_array() && command.size() > 0) {
      std::string args;
      bool first = true;
      for (const json::Value word : command.elements()) {
        if (first && word.is_string()) {
          take_path("command", word);
          look_at_command(word);
        } else if (!first) {
          args += (args.empty() ? "" : ", ") + std::string(word.raw());
        }
        first = false;
      }
      if (!args.empty()) add("args", "[" + args + "]");
    }
    if (const json::Value env = entry_.find("environment")) add("env", std::string(env.raw()));
    for (const std::string_view name : {"url", "headers"}) {
      if (const json::Value value = entry_.find(name)) add(std::string(name), std::string(value.raw()));
    }
    const json::Value enabled = entry_.find("enabled");
    if (enabled && enabled.is_bool() && !enabled.boolean()) add("disabled", "true");
  }

  void look_at_command(json::Value command) {
    if (!command || !command.is_string()) return;
    const std::string text = command.string();
    out_.is_gateway = text == "sallyport" || text.ends_with("/sallyport");
  }

  std::string rewritten() const {
    std::string text = "{";
    for (const Member& member : members_) {
      if (text.size() > 1) text += ", ";
      text += quote(member.name) + ": " + member.text;
    }
    return text + "}";
  }

  // `${input:x}` is asked for by the editor; here it is a variable of that name. In raw JSON text the two look the
  // same, unless somebody escaped `$`, which nobody does.
  void rename_references() {
    constexpr std::string_view kInput = "${input:";
    for (std::size_t at = 0; (at = out_.entry.find(kInput, at)) != std::string::npos;) {
      const auto end = out_.entry.find('}', at);
      const std::string name =
          out_.entry.substr(at + kInput.size(), end == std::string::npos ? 0 : end - at - kInput.size());
      out_.entry.replace(at, kInput.size(), "${");
      at += 2;
      note(fmt::format("the editor asked for `{}`: set it under `vars` or in the environment", visible(name)), false);
    }
    out_.needs_workspace = out_.entry.find("${workspaceFolder}") != std::string::npos;
    out_.needs_home = out_.entry.find("${userHome}") != std::string::npos;
  }

  json::Value entry_;
  const std::string& base_;
  bool in_project_;
  bool changed_ = false;
  std::vector<Member> members_;
  TakenEntry out_;
};

}  // namespace

TakenEntry take_entry(json::Value entry, EntryShape shape, const std::string& base, bool in_project) {
  return Taker(entry, base, in_project).take(shape);
}

}  // namespace sallyport::gateway
