// What the parts of load_settings share. The schema has judged form before (schemas/files): here a member of another
// type is simply not read, its fault was reported already.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gateway/config/load.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::gateway {

struct Decoder {
  Decoder(std::string file, std::string base, const Environment& environment, const FileReader& files)
      : environment(environment), files(files), base(std::move(base)), faults(std::move(file)) {}

  const Environment& environment;
  const FileReader& files;
  std::string base;
  FaultList faults;
  std::map<std::string, std::string> vars;
  const Former* former = nullptr;  // never null while settings are decoded

  // The member if it is of that kind, else absent.
  [[nodiscard]] static json::Value member(json::Value object, std::string_view name, json::Kind kind);
  [[nodiscard]] static bool flag(json::Value object, std::string_view name, bool otherwise);

  // Text with its variables replaced; a problem is a fault there and gives nullopt.
  [[nodiscard]] std::optional<std::string> text(json::Value value);
  [[nodiscard]] std::string text_member(json::Value object, std::string_view name);
  [[nodiscard]] std::string path_member(json::Value object, std::string_view name);  // absolute
  [[nodiscard]] std::string path(json::Value value, const std::string& text);
  [[nodiscard]] Millis duration(json::Value object, std::string_view name, Millis otherwise);
  [[nodiscard]] Millis parsed_duration(json::Value value, const std::string& written, Millis otherwise);
  [[nodiscard]] std::vector<std::string> texts(json::Value object, std::string_view name);
  // Also refuses empty and repeated ones.
  [[nodiscard]] std::vector<std::string> names(json::Value object, std::string_view name);
};

// An id of a server, client or person: why it cannot be one, or empty.
[[nodiscard]] std::string bad_id(std::string_view id);

// The parts, one file each.
void decode_servers(json::Value root, Decoder& decoder, Settings& settings);    // servers.cpp
void decode_access(json::Value root, Decoder& decoder, Settings& settings);     // access.cpp: clients, people
void decode_notify(json::Value root, Decoder& decoder, Settings& settings);     // notify.cpp
void decode_listeners(json::Value root, Decoder& decoder, Settings& settings);  // listeners.cpp

}  // namespace sallyport::gateway
