#include "gateway/app/rules.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "gateway/config/locate.hpp"
#include "gateway/config/wrap.hpp"

namespace sallyport::gateway {
namespace {

std::string working_folder() {
  std::error_code ec;
  const auto path = std::filesystem::current_path(ec);
  return ec ? std::string("/") : path.string();
}

bool is_root() { return ::geteuid() == 0; }

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* value =
        std::getenv(name.c_str());  // NOLINT(concurrency-mt-unsafe): nothing of ours changes the environment
    if (value == nullptr) return std::nullopt;
    return std::string(value);
  };
}

Result<SettingsRequest> settings_request(const cli::Invocation& invocation) {
  const Environment environment = process_environment();
  const SystemFiles files;
  SettingsRequest request;
  request.default_state = default_state_dir(environment, is_root());
  if (!invocation.state.empty()) request.state = resolve_path(working_folder(), invocation.state);
  request.port = invocation.port;
  request.control_port = invocation.control_port;
  if (!invocation.words.empty()) {
    request.text = wrap_config(invocation.words, working_folder());
    request.base = working_folder();
    if (request.state.empty())
      request.state = wrap_state_dir(request.default_state, invocation.words, working_folder());
    return request;
  }
  const auto flag = invocation.config.empty() ? std::nullopt : std::optional(invocation.config);
  auto found = find_config(flag, working_folder(), environment, files);
  if (!found) return fail(found.error());
  request.file = std::move(*found);
  return request;
}

Result<std::string> state_folder_of(const cli::Invocation& invocation) {
  if (!invocation.state.empty()) return resolve_path(working_folder(), invocation.state);
  auto request = settings_request(invocation);
  if (!request) return fail(request.error());
  if (!request->state.empty()) return request->state;
  const SystemFiles files;
  const LoadedSettings loaded = load_settings(*request, process_environment(), files);
  if (loaded.settings) return loaded.settings->state_dir;
  return fail(ErrorCode::invalid, "the config has faults; `sallyport check` names them");
}

catalogue::Rules rules_of(const RuleBook& book) {
  return {.policy = book.policy,
          .trust = book.trust,
          .lock = book.lock,
          .policy_digest = book.policy_digest,
          .trust_digest = book.trust_digest};
}

Millis keys_kept(const trust::TrustFile& trust) {
  Millis kept = std::chrono::hours(24 * 7);
  for (const auto& [id, server] : trust.servers) {
    for (const trust::Contract& contract : server.tools) kept = std::max(kept, contract.retention.value_or(kept));
  }
  return kept;
}

}  // namespace sallyport::gateway
