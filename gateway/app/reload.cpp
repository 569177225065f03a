#include "gateway/app/reload.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <boost/json.hpp>

#include "gateway/app/rules.hpp"
#include "gateway/base/log.hpp"
#include "schemas/core/canonical.hpp"
#include "schemas/core/encoding.hpp"
#include "schemas/core/time.hpp"
#include "trust/crypto/hash.hpp"

namespace sallyport::gateway {
namespace bj = boost::json;

namespace {

constexpr std::size_t kMostWords = 1000;  // of a list in an answer
constexpr std::size_t kMostInShort = 3;   // in the log and in /readyz
constexpr auto kTurn = std::chrono::seconds(60);

bj::array list_of(const std::vector<std::string>& words, std::size_t most = kMostWords) {
  bj::array out;
  for (const std::string& word : words) {
    if (out.size() == most) {
      out.emplace_back(fmt::format("and {} more", words.size() - most));
      break;
    }
    out.emplace_back(visible(word));
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < kMostInShort; ++i) out += (i == 0 ? "" : " ") + words[i];
  return words.size() > kMostInShort ? fmt::format("{} (and {} more)", out, words.size() - kMostInShort) : out;
}

// What a reload can change of the settings; the rest stays as it was at the start.
void take_settings(Settings& into, const Settings& from) {
  into.clients = from.clients;
  into.people = from.people;
  into.anonymous = from.anonymous;
  into.vars = from.vars;
  into.trust_files = from.trust_files;
  into.policy_files = from.policy_files;
  into.trust_inline = from.trust_inline;
  into.policy_inline = from.policy_inline;
}

// Adds who is in force to those that were: all groups and roles that each ever had.
void remember(Former& former, const Settings& settings) {
  const auto join = [](std::vector<std::string>& into, const std::vector<std::string>& from) {
    for (const std::string& one : from) {
      if (std::ranges::find(into, one) == into.end()) into.push_back(one);
    }
  };
  for (const ClientSettings& client : settings.clients) {
    const auto known = std::ranges::find(former.clients, client.id, &ClientSettings::id);
    known == former.clients.end() ? former.clients.push_back(client) : join(known->groups, client.groups);
  }
  for (const PersonSettings& person : settings.people) {
    const auto known = std::ranges::find_if(
        former.people, [&](const PersonSettings& one) { return one.person.id == person.person.id; });
    if (known == former.people.end()) {
      former.people.push_back(person);
      continue;
    }
    known->person.roles |= person.person.roles;
    join(known->person.groups, person.person.groups);
  }
}

Status needs_operator(const Person& person) {
  if (person.has(Role::operator_)) return {};
  return fail(ErrorCode::forbidden, fmt::format("`{}` does not have the role operator", person.id));
}

}  // namespace

// One reading at a time; the others wait for it.
class Reload::Turn {
 public:
  explicit Turn(Reload& reload) : reload_(reload) { reload_.busy_ = true; }
  ~Turn() {
    reload_.busy_ = false;
    reload_.free_.notify();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Reload& reload_;
};

Reload::Reload(asio::any_io_executor loop, InForce first, ReloadParts parts)
    : parts_(std::move(parts)),
      in_force_(std::move(first)),
      fixed_(fixed_part(config_text())),
      free_(loop),
      watch_(loop, [this] { tasks_.spawn("reload", reread("files")); }),
      tasks_(loop) {
  remember(former_, in_force_.settings);
}

Reload::~Reload() = default;

asio::awaitable<Status> Reload::begin() {
  auto noted = co_await note("loaded", {}, {}, {});
  if (noted) watch();
  co_return noted;
}

void Reload::watch() {
  if (auto watched = watch_.watch(watched_paths(in_force_.settings)); !watched) {
    log::warning("reload.unwatched", {{"reason", watched.error().message}, {"remedy", "tell it with SIGHUP"}});
  }
}

asio::awaitable<void> Reload::stop(Deadline deadline) {
  while (busy_ && !deadline.passed()) co_await free_.wait(deadline);
  busy_ = true;  // no other begins
  tasks_.cancel();
}

asio::awaitable<void> Reload::reread(std::string by) {
  auto looked = co_await look(std::move(by), false);
  static_cast<void>(looked);  // what came of it was logged, and is shown
}

// The config's own bytes.
std::string Reload::config_text() const {
  if (parts_.request.text) return {};
  auto read = parts_.files.read(parts_.request.file, kMaxOwnFileBytes);
  return read ? std::move(read->bytes) : std::string();
}

// Whoever waited takes the turn at once: nothing else runs in between.
asio::awaitable<Status> Reload::turn_comes() {
  const Deadline deadline = Deadline::after(kTurn);
  while (busy_) {
    const bool freed = co_await free_.wait(deadline);
    if (!freed) co_return fail(ErrorCode::unavailable, "another reload is still under way");
  }
  co_return Status{};
}

asio::awaitable<Status> Reload::look(std::string by, bool lock_was_accepted) {
  const Status ours = co_await turn_comes();
  if (!ours) co_return ours;
  const Turn turn(*this);
  LoadedConfig config;
  std::string text;
  SettingsRequest request = parts_.request;
  request.former = former_;
  std::function<void()> read = [&] {
    config = load_config(request, process_environment(), parts_.files);
    text = config_text();
  };
  co_await parts_.workers.run(std::move(read));
  restart_ = !text.empty() && fixed_part(text) != fixed_;
  faults_.clear();
  std::vector<std::string> errors;
  for (const Fault& fault : config.faults) {
    faults_.push_back(to_text(fault));
    if (fault.level == Fault::Level::error) errors.push_back(to_text(fault));
  }
  if (!config.settings || !config.book) {
    const Status refused = refuse("the files have faults, what was in force stays: " + joined(errors));
    if (lock_was_accepted) co_return co_await take_lock(std::move(by));
    co_return refused;
  }
  InForce found{in_force_.settings, std::move(*config.book)};
  take_settings(found.settings, *config.settings);
  auto judged = co_await judge(std::move(found), config.tests_ok, std::move(by), lock_was_accepted);
  co_return judged;
}

// What was read and has no fault: nothing new, in force, or waiting.
asio::awaitable<Status> Reload::judge(InForce found, bool tests_ok, std::string by, bool lock_was_accepted) {
  Changes change = changes(in_force_, found);
  const bool lock_waits = change.lock_loosens && !lock_was_accepted;
  const bool was_at_fault = !refused_.empty() || waiting_.has_value();
  if (!tests_ok && (change.others_loosen || lock_waits)) {
    const Status refused = refuse("the policy's own tests fail; what was in force stays");
    if (lock_was_accepted) co_return co_await take_lock(std::move(by));
    co_return refused;
  }
  refused_.clear();
  if (!change.any()) {
    waiting_.reset();
    if (was_at_fault) parts_.on_change();
    co_return Status{};
  }
  if (!change.others_loosen && !lock_waits) {
    auto done = co_await put_in_force(std::move(found), std::move(by),
                                      lock_was_accepted ? "definitions were accepted" : "it only tightens");
    co_return done;
  }
  if (lock_was_accepted && change.lock) {
    auto taken = co_await take_lock(by);
    if (!taken) co_return taken;
    change = changes(in_force_, found);
  }
  std::string digest = load_digest(found);
  if (!waiting_ || waiting_->digest != digest) {
    log::warning("reload.waits", {{"looser", joined(change.looser)},
                                  {"stricter", joined(change.stricter)},
                                  {"digest", digest},
                                  {"remedy",
                                   "an operator has to say `sallyport policy accept`; until then all of it waits, "
                                   "and `sallyport stop` holds calls up at once"}});
  }
  const UnixMillis now = parts_.calls.clock().now();
  waiting_ = Waiting{std::move(found), std::move(change), std::move(digest), std::move(by), now};
  parts_.on_change();
  co_return Status{};
}

Status Reload::refuse(std::string why) {
  if (refused_ != why) log::error("reload.refused", {{"reason", why}});
  refused_ = std::move(why);
  waiting_.reset();  // the files are no longer what was shown
  parts_.on_change();
  return fail(ErrorCode::invalid, refused_);
}

// The lock as it lies there, with the rules that are in force.
asio::awaitable<Status> Reload::take_lock(std::string by) {
  Result<FileReader::Text> text = fail(ErrorCode::internal, "the lock was not read");
  std::function<void()> read = [&] { text = parts_.files.read(in_force_.settings.lock_file, kMaxLockBytes); };
  co_await parts_.workers.run(std::move(read));
  if (!text) co_return fail(text.error());
  std::string digest = trust::digest_text(text->bytes);
  auto lock = trust::parse_lock(std::move(text->bytes));
  if (!lock) co_return fail(lock.error());
  InForce mixed = in_force_;
  mixed.book.lock = std::make_shared<const trust::LockFile>(std::move(*lock));
  mixed.book.lock_digest = digest;
  std::erase_if(mixed.book.files, [&](const auto& file) { return file.first == in_force_.settings.lock_file; });
  mixed.book.files.emplace_back(in_force_.settings.lock_file, std::move(digest));
  auto done = co_await put_in_force(std::move(mixed), std::move(by), "definitions were accepted");
  co_return done;
}

asio::awaitable<Status> Reload::put_in_force(InForce loaded, std::string by, std::string reason) {
  const std::string before = in_force_.book.policy_digest;
  std::function<void()> swap = [&] {
    in_force_ = std::move(loaded);
    remember(former_, in_force_.settings);
    waiting_.reset();
    parts_.catalogue.set_rules(rules_of(in_force_.book));
  };
  Settings settings = loaded.settings;
  auto let_in = co_await parts_.let_in(std::move(settings), std::move(swap));
  if (!let_in) co_return refuse("who may come in cannot be told, what was in force stays: " + let_in.error().message);
  parts_.calls.configuration_changed();
  parts_.on_change();
  watch();
  auto noted = co_await note("reloaded", by, reason, before);
  log::info("reloaded", {{"policy", in_force_.book.policy_digest},
                         {"trust", in_force_.book.trust_digest},
                         {"by", by},
                         {"reason", reason}});
  co_return noted;
}

asio::awaitable<Status> Reload::note(std::string action, std::string by, std::string reason, std::string before) {
  trust::ReceiptBody body = parts_.calls.receipt(trust::ReceiptKind::policy);
  trust::EventRecord event;
  event.action = std::move(action);
  event.by = std::move(by);
  event.reason = std::move(reason);
  event.before = std::move(before);
  event.after = in_force_.book.policy_digest;
  event.details = in_force_.book.files;
  event.details.emplace_back("trust", in_force_.book.trust_digest);
  body.event = std::move(event);
  auto stored = co_await parts_.calls.store().commit(Durability::power, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    return {};
  });
  co_return stored;
}

DeskAnswer Reload::reload(Person person) {
  if (auto may = needs_operator(person); !may) co_return fail(may.error());
  auto looked = co_await look(person.id, false);
  if (!looked) co_return fail(looked.error());
  co_return answer();
}

DeskAnswer Reload::lock_accepted(Person person) {
  if (auto may = needs_operator(person); !may) co_return fail(may.error());
  auto looked = co_await look(person.id, true);
  if (!looked) co_return fail(looked.error());
  co_return answer();
}

DeskAnswer Reload::accept(Person person, std::string digest) {
  if (auto may = needs_operator(person); !may) co_return fail(may.error());
  const Status ours = co_await turn_comes();  // what is being read may be the very files that wait
  if (!ours) co_return fail(ours.error());
  if (!waiting_) co_return fail(ErrorCode::conflict, "nothing waits to be accepted");
  if (waiting_->digest != digest) co_return fail(ErrorCode::conflict, "what waits is not what was shown; look again");
  const Turn turn(*this);
  Waiting accepted = std::move(*waiting_);
  auto done = co_await put_in_force(std::move(accepted.loaded), person.id, "accepted");
  if (!done) co_return fail(done.error());
  co_return answer();
}

DeskAnswer Reload::view(Person person) {
  if (person.roles == 0) co_return fail(ErrorCode::forbidden, "this needs a role");
  co_return answer();
}

std::string Reload::state() const { return !refused_.empty() ? "refused" : waiting_ ? "waiting" : "in_force"; }

std::string Reload::answer() const {
  bj::array faults = list_of(faults_);
  // Said, not hidden.
  if (restart_) {
    faults.emplace_back("warning: " + visible(in_force_.settings.file) +
                        " itself has changed: servers, listeners, limits and folders take effect at the next start");
  }
  bj::object files;
  for (const auto& [name, digest] : in_force_.book.files) files[name] = digest;
  bj::object out{{"faults", std::move(faults)},
                 {"files", std::move(files)},
                 {"policy", in_force_.book.policy_digest},
                 {"state", state()},
                 {"trust", in_force_.book.trust_digest}};
  if (!in_force_.book.lock_digest.empty()) out["lock"] = in_force_.book.lock_digest;
  if (!refused_.empty()) out["refused"] = visible(refused_);
  if (waiting_) {
    out["waiting"] = bj::object{{"by", visible(waiting_->by)},
                                {"digest", waiting_->digest},
                                {"looser", list_of(waiting_->changes.looser)},
                                {"since", to_utc(waiting_->since)},
                                {"stricter", list_of(waiting_->changes.stricter)}};
  }
  return json::canonical(bj::value(std::move(out)));
}

std::string Reload::summary() const {
  bj::object out{{"state", state()}};
  if (!refused_.empty()) out["refused"] = visible(refused_);
  if (waiting_) out["looser"] = list_of(waiting_->changes.looser, kMostInShort);
  return json::canonical(bj::value(std::move(out)));
}

}  // namespace sallyport::gateway
