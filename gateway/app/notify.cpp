#include "gateway/app/notify.hpp"

#include "gateway/base/known_secrets.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::size_t kMostSecret = 4096;

Result<Secret> read(const FileReader& files, const std::string& file) {
  auto text = files.read(file, kMostSecret);
  if (!text) return fail_in("notify", text.error());
  while (text->bytes.ends_with('\n') || text->bytes.ends_with('\r')) text->bytes.pop_back();
  if (text->bytes.empty()) return fail(ErrorCode::invalid, "notify: `" + file + "` is empty");
  return Secret(std::move(text->bytes));
}

}  // namespace

Result<std::vector<Webhook>> webhooks_of(const Settings& settings, const FileReader& files) {
  std::vector<Webhook> hooks;
  for (const NotifySettings& one : settings.notify) {
    Webhook hook{one, {}, {}};
    Result<Secret> address = one.url_file.empty() ? Result<Secret>(one.url) : read(files, one.url_file);
    if (!address) return fail(address.error());
    known_secrets().add(*address);
    auto url = parse_url(address->reveal());
    if (!url || url->scheme == Url::Scheme::unix_socket ||
        (url->scheme == Url::Scheme::http && !is_loopback(url->host))) {
      return fail(ErrorCode::invalid, "notify: an address is no https URL (plain http only on this machine)");
    }
    hook.url = std::move(*url);
    if (!one.secret_file.empty()) {
      auto secret = read(files, one.secret_file);
      if (!secret) return fail(secret.error());
      known_secrets().add(*secret);
      hook.secret = std::move(*secret);
    }
    hooks.push_back(std::move(hook));
  }
  return hooks;
}

}  // namespace sallyport::gateway
