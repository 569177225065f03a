#include "gateway/servers/envelope.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gateway/mcp/modern.hpp"
#include "gateway/servers/params.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway::servers {
namespace {

constexpr std::size_t kMaxParams = 64U << 20;
constexpr std::int64_t kLongestTtl = 24LL * 3600 * 1000;
// Keys of `_meta` that speak of one leg.
constexpr std::array kOneLeg{mcp::meta::kProtocolVersion, mcp::meta::kClientCapabilities, mcp::meta::kClientInfo,
                             mcp::meta::kLogLevel,        mcp::meta::kSubscriptionId,     mcp::meta::kProgressToken};
// Extensions that the gateway passes on (what apps speak of asks nothing of it) or serves itself (it follows tasks).
constexpr std::array kPassedExtensions{mcp::extension::kApps, mcp::extension::kTasks};

json::Limits limits_of(std::size_t bytes) { return {.bytes = bytes, .depth = 1000}; }

void append(std::string& out, std::string_view name_raw, std::string_view value_raw) {
  if (!out.empty()) out += ',';
  out.append(name_raw).append(":").append(value_raw);
}

std::string members_but_one_leg(json::Value meta) {
  std::string out;
  for (const json::Member member : meta.members()) {
    const bool ours = std::ranges::any_of(kOneLeg, [&](std::string_view key) { return member.key.equals(key); });
    if (!ours) append(out, member.key.raw(), member.value.raw());
  }
  return out;
}

std::string meta_of(const Envelope& envelope, const std::string& passed, std::string_view token, bool wants_progress) {
  std::string out = "{" + envelope_members(envelope);
  if (!passed.empty()) out += "," + passed;
  if (wants_progress) out.append(R"(,"progressToken":)").append(token);
  return out + "}";
}

std::string extensions_of(json::Value capabilities) {
  std::string out;
  for (const json::Member member : capabilities.find("extensions").members()) {
    const auto same = [&](std::string_view known) { return member.key.equals(known); };
    if (std::ranges::any_of(kPassedExtensions, same)) append(out, member.key.raw(), member.value.raw());
  }
  return out;
}

// Of an error with `data.supported`: whether it names a version of these.
template <class Known>
bool names_version(const ServerAnswer& answer, const Known& known) {
  for (const json::Value version : answer.error.at("/data/supported").elements()) {
    const auto same = [&](std::string_view name) { return version.equals(name); };
    if (std::ranges::any_of(known, same)) return true;
  }
  return false;
}

EraProof judge_error(const ServerAnswer& answer) {
  const json::Value number = answer.error.find("code");
  const std::int64_t code = number.is_number() ? number.integer().value_or(0) : 0;
  if (code == mcp::code::kUnsupportedVersion) {
    if (names_version(answer, mcp::kModernVersions)) return EraProof::modern;
    return names_version(answer, mcp::kLegacyVersions) ? EraProof::legacy : EraProof::foreign;
  }
  if (code == mcp::code::kHeaderMismatch || code == mcp::code::kMissingClientCapability) return EraProof::modern;
  const int status = answer.http_status.value_or(200);
  const bool says_nothing = status == 401 || status == 403 || status == 408 || status == 429 || status >= 500;
  return says_nothing ? EraProof::nothing : EraProof::legacy;
}

}  // namespace

std::string envelope_members(const Envelope& envelope) {
  std::string out =
      fmt::format(R"("{}":"{}","{}":{{"name":"sallyport","version":{}}},"{}":{})", mcp::meta::kProtocolVersion,
                  mcp::kModernVersion, mcp::meta::kClientInfo, quote(envelope.version), mcp::meta::kClientCapabilities,
                  envelope.capabilities.empty() ? "{}" : envelope.capabilities);
  if (!envelope.log_level.empty()) {
    out += fmt::format(R"(,"{}":{})", mcp::meta::kLogLevel, quote(envelope.log_level));
  }
  return out;
}

std::string common_capabilities(const std::string& passes, const std::string& client) {
  if (client.empty()) return "{}";
  const auto may = json::Document::parse(passes);
  const auto can = json::Document::parse(client);
  if (!may || !can) return "{}";
  std::string out;
  for (const std::string_view kind : {"elicitation", "sampling", "roots"}) {
    const json::Value there = can->root().find(kind);
    if (!there.is_object() || !may->root().find(kind)) continue;
    // Changes of roots are told to nobody in this era.
    append(out, quote(kind), kind == "roots" ? "{}" : there.raw());
  }
  if (const std::string extensions = extensions_of(can->root()); !extensions.empty()) {
    append(out, "\"extensions\"", "{" + extensions + "}");
  }
  return "{" + out + "}";
}

std::string passed_meta(std::string_view members) {
  if (members.empty()) return {};
  const std::string text = fmt::format("{{{}}}", members);
  const auto document = json::Document::parse(text, limits_of(text.size()));
  return document ? members_but_one_leg(document->root()) : std::string();
}

Result<std::string> modern_params(std::string_view params_raw, const Envelope& envelope, std::string_view token,
                                  bool wants_progress) {
  const std::string text(params_raw.empty() ? "{}" : params_raw);
  const auto document = json::Document::parse(text, limits_of(kMaxParams));
  if (!document) return fail_in("params", document.error());
  const json::Value params = document->root();
  if (!params.is_object()) return fail(ErrorCode::invalid, "params must be an object");
  const json::Value meta = params.find("_meta");
  if (meta && !meta.is_object()) return fail(ErrorCode::invalid, "`_meta` must be an object");
  const std::string passed = meta ? members_but_one_leg(meta) : std::string();
  return mcp::replace_value(params, "_meta", meta_of(envelope, passed, token, wants_progress));
}

std::string modern_call_params(const PermittedCall& permit, const Envelope& envelope, std::string_view token) {
  std::string out = "{";
  out.reserve(permit.params_members().size() + permit.meta_members().size() + 512);
  out += permit.params_members();
  if (!permit.params_members().empty()) out += ',';
  out += R"("_meta":)";
  out += meta_of(envelope, passed_meta(permit.meta_members()), token, permit.wants_progress());
  return out += '}';
}

HeaderList standard_headers(std::string_view method, json::Value params,
                            const std::vector<mcp::ParamHeader>& declared) {
  HeaderList out;
  out.emplace_back(mcp::header::kMethod, mcp::encode_header(method));
  if (const auto name = mcp::name_of(method, params)) {
    out.emplace_back(mcp::header::kName, mcp::encode_header(*name));
  }
  for (auto& header : mcp::param_values(declared, params.find("arguments"))) out.push_back(std::move(header));
  return out;
}

EraProof judge_discover(const ServerAnswer& answer) {
  if (answer.kind == ServerAnswer::Kind::error) return judge_error(answer);
  if (answer.kind != ServerAnswer::Kind::result) return EraProof::nothing;
  const json::Value versions = answer.result.find("supportedVersions");
  if (!versions.is_array()) return EraProof::legacy;
  const auto names = [&](const auto& known) {
    return std::ranges::any_of(versions.elements(), [&](json::Value version) {
      return std::ranges::any_of(known, [&](std::string_view name) { return version.equals(name); });
    });
  };
  if (names(mcp::kModernVersions)) return EraProof::modern;
  return names(mcp::kLegacyVersions) ? EraProof::legacy : EraProof::foreign;
}

Result<ServerInfo> read_discover(const ServerAnswer& answer) {
  if (answer.kind != ServerAnswer::Kind::result || judge_discover(answer) != EraProof::modern) {
    const std::string said = answer.kind == ServerAnswer::Kind::result
                                 ? "it names no version that the gateway speaks: " +
                                       visible(answer.result.find("supportedVersions").raw().substr(0, 200))
                                 : describe_failure(answer);
    return fail(answer.timed_out ? ErrorCode::timeout : ErrorCode::unavailable,
                fmt::format("it does not speak protocol version {}: {}", mcp::kModernVersion, said),
                ErrorSource::server, RetryClass::not_sent);
  }
  const json::Value capabilities = answer.result.find("capabilities");
  const json::Value info = answer.result.find("_meta").find(mcp::meta::kServerInfo);
  ServerInfo out;
  out.protocol_version = std::string(mcp::kModernVersion);
  out.name = bounded_text(info, "name", kMaxServerName);
  out.version = bounded_text(info, "version", kMaxServerName);
  out.instructions = bounded_text(answer.result, "instructions", kMaxInstructions);
  out.capabilities_raw = capabilities.is_object() ? std::string(capabilities.raw()) : "{}";
  return out;
}

std::optional<Millis> ttl_of(json::Value result) {
  const json::Value ttl = result.find("ttlMs");
  if (!ttl.is_number()) return std::nullopt;
  const double value = ttl.real();
  if (!(value > 0)) return Millis(0);
  return Millis(value >= static_cast<double>(kLongestTtl) ? kLongestTtl : static_cast<std::int64_t>(value));
}

}  // namespace sallyport::gateway::servers
