#include "gateway/app/local_log.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <map>
#include <optional>

#include "gateway/app/credentials.hpp"
#include "gateway/app/log_keeper.hpp"
#include "gateway/app/rules.hpp"
#include "gateway/calls/approval_rows.hpp"
#include "gateway/calls/calls.hpp"
#include "gateway/calls/grants.hpp"
#include "gateway/cli/control_client.hpp"
#include "gateway/cli/credential.hpp"
#include "gateway/config/check.hpp"
#include "gateway/config/load.hpp"
#include "gateway/storage/sqlite_store.hpp"
#include "schemas/core/encoding.hpp"
#include "trust/crypto/hash.hpp"
#include "trust/receipts/verify.hpp"

namespace sallyport::gateway {
namespace {

constexpr std::uint32_t kAll = 1'000'000;
constexpr Millis kLongest = std::chrono::hours(24 * 400);

// The state folder, taken by this command, and what lies in it.
struct Home {
  asio::io_context io{1};
  Workers workers{1};
  Settings settings;
  std::optional<StateFolder> folder;
  std::unique_ptr<SqliteStore> store;
  std::unique_ptr<LogKeeper> keeper;
  Person person;
  std::string reason;
  Millis keys = std::chrono::hours(24 * 7);  // how long a key may be known to the part of a log that is lost

  [[nodiscard]] trust::ReceiptBody receipt(trust::ReceiptKind kind, std::string action) const {
    trust::ReceiptBody body;
    body.kind = kind;
    body.gateway = {SALLYPORT_VERSION, {}, "command", {}};
    body.event = trust::EventRecord{std::move(action), person.id, reason, {}, {}, {}, {}};
    return body;
  }
};

Status open_home(const cli::Invocation& invocation, Home& home) {
  auto request = settings_request(invocation);
  if (!request) return fail(request.error());
  LoadedSettings loaded = load_settings(*request, process_environment(), SystemFiles());
  if (!loaded.settings) return fail(ErrorCode::invalid, "the config has faults; `sallyport check` names them");
  home.settings = std::move(*loaded.settings);
  // Faults of other files do not stand in the way: then the longest time that a key can be known is not known either.
  const LoadedConfig config = load_config(*request, process_environment(), SystemFiles());
  home.keys = config.book ? keys_kept(*config.book->trust) : kLongest;
  auto folder = StateFolder::own(home.settings.state_dir, "sallyport receipts", system_entropy());
  if (!folder) return fail(folder.error());
  home.folder.emplace(std::move(*folder));
  StoreOptions options;
  options.folder = &*home.folder;
  auto store = open_store(options, home.io.get_executor(), system_clock(), system_entropy());
  if (!store) return fail(store.error());
  home.store = std::move(*store);
  auto keeper = make_keeper(home.settings, *home.folder, *home.store, home.io.get_executor(), home.workers);
  if (!keeper) return fail(keeper.error());
  home.keeper = std::move(*keeper);
  home.reason = invocation.reason;
  return {};
}

// Access to the files is not enough: it takes the credential of an operator.
asio::awaitable<Status> find_operator(Home& home, const cli::Invocation& invocation) {
  auto own = co_await own_credentials(home.settings, *home.store, system_entropy());
  if (!own) co_return fail(own.error());
  const Environment environment = process_environment();
  auto target = cli::ControlTarget::make({}, home.folder->file("control.sock"), {});
  if (!target) co_return fail(target.error());
  auto token = cli::find_credential(invocation.token_file, target->name(),
                                    [&](std::string_view name) { return environment(std::string(name)); });
  if (!token) co_return fail(token.error());
  const std::string digest = trust::sha256_hex(token->reveal());
  std::vector<PersonSettings> people = home.settings.people;
  if (own->owner) people.push_back(*own->owner);
  for (const PersonSettings& person : people) {
    if (!equal_secret(person.token_sha256, digest)) continue;
    if (!person.person.has(Role::operator_))
      co_return fail(ErrorCode::forbidden, fmt::format("`{}` does not have the role operator", person.person.id));
    home.person = person.person;
    co_return Status{};
  }
  co_return fail(ErrorCode::forbidden, "that token belongs to nobody in the config");
}

using Act = asio::awaitable<Result<std::string>> (*)(Home&);

asio::awaitable<Result<std::string>> act_as_operator(Home& home, const cli::Invocation& invocation, Act act) {
  auto known = co_await find_operator(home, invocation);
  if (!known) co_return fail(known.error());
  auto done = co_await act(home);
  co_return done;
}

int run(const cli::Invocation& invocation, cli::Terminal& terminal, Act act) {
  Home home;
  if (auto opened = open_home(invocation, home); !opened) return cli::complain(terminal, opened.error().message);
  Result<std::string> done = fail(ErrorCode::internal, "it did not run");
  asio::co_spawn(home.io, act_as_operator(home, invocation, act),
                 [&](std::exception_ptr error, Result<std::string> result) {
                   if (!error) done = std::move(result);
                   home.io.stop();
                 });
  home.io.run();
  if (done) {
    terminal.out(invocation.json ? fmt::format("{{\"done\":{}}}\n", quote(*done)) : *done + "\n");
    return cli::kYes;
  }
  terminal.err("sallyport: " + done.error().message + "\n");
  const bool said_no = done.error().code == ErrorCode::forbidden || done.error().code == ErrorCode::conflict;
  return said_no ? cli::kNo : cli::kCouldNot;
}

asio::awaitable<Result<std::string>> rotate(Home& home) {
  auto good = co_await home.keeper->check();
  if (!good) co_return fail(good.error());
  auto next = home.folder->next_receipt_key(system_entropy());
  if (!next) co_return fail(next.error());
  auto old = home.folder->receipt_key();
  if (!old) co_return fail(old.error());
  trust::ReceiptBody body = home.receipt(trust::ReceiptKind::key, "rotated");
  body.event->before = old->keyid();
  body.event->after = next->keyid();
  body.event->details = {{"publicKey", to_base64(next->public_key().der())}};
  const std::string pem = next->public_key().pem();
  auto stored = co_await home.store->commit(Durability::power, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);  // the last one that the old key signs
    if (!appended) return fail(appended.error());
    return tx.next_receipt_key(pem);
  });
  if (!stored) co_return fail(stored.error());
  if (auto taken = home.folder->take_next_receipt_key(); !taken) co_return fail(taken.error());
  auto covered = co_await home.keeper->make();
  if (!covered) co_return fail(covered.error());
  co_return fmt::format("receipts are signed with key {} from now on; hand receipts.pub to whoever checks them",
                        next->keyid().substr(0, 16));
}

// One that was revoked, or used up, in the part that is lost must not come back.
Status end_grants(Tx& tx, trust::ReceiptBody blank, UnixMillis now) {
  blank.kind = trust::ReceiptKind::approval;
  blank.event.reset();
  for (const GrantRow& row : tx.grants(true, kAll)) {
    auto grant = calls::grant_from(tx, row);
    if (!grant) return fail(grant.error());
    grant->revoked = now;
    grant->reason = "the log was rolled back";
    if (auto put = calls::put_grant(tx, *grant, now); !put) return put;
    auto appended = tx.append(calls::grant_receipt(blank, *grant, "void", {}, grant->reason));
    if (!appended) return fail(appended.error());
  }
  return {};
}

// The same for checkpoints. Their key watches that of receipts, so it signs itself who comes after it.
asio::awaitable<Result<std::string>> rotate_checkpoint(Home& home) {
  auto good = co_await home.keeper->check();
  if (!good) co_return fail(good.error());
  auto covered = co_await home.keeper->make();  // the last one of the old key
  if (!covered) co_return fail(covered.error());
  auto next = home.folder->next_checkpoint_key(system_entropy());
  if (!next) co_return fail(next.error());
  auto old = home.folder->checkpoint_key();
  if (!old) co_return fail(old.error());
  const std::string key = to_base64(next->public_key().der());
  const auto signature = old->sign(trust::checkpoint_key_statement(home.store->log_id(), key));
  trust::ReceiptBody body = home.receipt(trust::ReceiptKind::key, std::string(trust::kCheckpointRotated));
  body.event->before = old->keyid();
  body.event->after = next->keyid();
  body.event->details = {{"checkpointKey", key}, {"endorsement", to_base64(trust::bytes_of(signature))}};
  auto stored = co_await home.store->commit(Durability::power, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    if (auto retired = home.keeper->retire_key(tx, appended->seq); !retired) return retired;
    return tx.put_setting(kCheckpointKeySetting, next->keyid());
  });
  if (!stored) co_return fail(stored.error());
  if (auto taken = home.folder->take_next_checkpoint_key(); !taken) co_return fail(taken.error());
  auto keeper = make_keeper(home.settings, *home.folder, *home.store, home.io.get_executor(), home.workers);
  if (!keeper) co_return fail(keeper.error());
  home.keeper = std::move(*keeper);
  covered = co_await home.keeper->make();
  if (!covered) co_return fail(covered.error());
  co_return fmt::format("checkpoints are signed with key {} from now on; whoever has the old one can follow",
                        next->keyid().substr(0, 16));
}

// Whatever could have gone on in the part that is lost is over: asks are void, evidence is stale, and operations that
// were not concluded may have been carried out.
Status spend_all(Tx& tx, const trust::ReceiptBody& blank, const std::map<std::string, ServerSettings>& servers,
                 UnixMillis now) {
  for (const char* state : {"pending", "approved"}) {
    for (ApprovalRow& row : tx.approvals(state, kAll)) {
      auto approval = calls::approval_from(row);
      if (!approval) return fail(approval.error());
      auto ended = trust::apply(*approval, trust::event::Invalidated{"the log was rolled back"}, now);
      if (!ended) continue;
      calls::update(row, *ended, now);
      if (auto put = tx.put(row); !put) return put;
    }
  }
  // Writes of the lost part moved revisions: no evidence is current any more.
  for (const auto& [id, server] : servers) {
    if (auto bumped = tx.bump_revision(id, {}); !bumped) return bumped;
  }
  if (auto ended = end_grants(tx, blank, now); !ended) return ended;
  OperationFilter filter;
  filter.limit = kAll;
  filter.states = {OperationState::received,       OperationState::waiting,    OperationState::ready,
                   OperationState::intent,         OperationState::sent,       OperationState::running,
                   OperationState::awaiting_input, OperationState::reconciling};
  for (OperationRow row : tx.operations(filter)) {
    // Of a read it does not matter whether it ran.
    const bool never_ran = calls::next(row.state, calls::Event::refuse).has_value();
    const calls::Event read = never_ran ? calls::Event::refuse : calls::Event::fail;
    const auto stepped = calls::step(row, row.is_read ? read : calls::Event::rollback);
    if (!stepped) return fail(stepped.error());
    row.unknown = row.is_read ? Unknown::no : Unknown::lost;
    row.basis = row.is_read ? "read" : "rollback";
    row.reason = "the log was rolled back";
    row.updated = now;
    trust::ReceiptBody body = calls::receipt_about(blank, row);
    body.kind = calls::receipt_of(*stepped, row);
    body.event.reset();
    auto appended = tx.append(std::move(body));
    if (!appended) return fail(appended.error());
    row.receipt = appended->id;
    if (auto put = tx.put(row); !put) return put;
  }
  return {};
}

asio::awaitable<Result<std::string>> accept_rollback(Home& home) {
  auto good = co_await home.keeper->check();
  if (good) co_return fail(ErrorCode::conflict, "the log extends its checkpoints; there is nothing to accept");
  if (good.error().code != ErrorCode::conflict) co_return fail(good.error());
  trust::ReceiptBody body = home.receipt(trust::ReceiptKind::log, "rollback");
  body.event->target = good.error().message.substr(0, good.error().message.find(':'));
  auto stored = co_await home.store->commit(Durability::power, [&](Tx& tx) -> Status {
    auto appended = tx.append(body);
    if (!appended) return fail(appended.error());
    const UnixMillis now = system_clock().now();
    const std::string until = std::to_string(now + home.keys.count());
    if (auto put = tx.put_setting(calls::kKeysDoubtfulUntil, until); !put) return put;
    return spend_all(tx, body, home.settings.servers, now);
  });
  if (!stored) co_return fail(stored.error());
  auto anew = co_await home.keeper->begin_anew();
  if (!anew) co_return fail(anew.error());
  auto covered = co_await home.keeper->make();
  if (!covered) co_return fail(covered.error());
  if (!home.keeper->problem().empty()) co_return fail(ErrorCode::unavailable, home.keeper->problem());
  co_return std::string(
      "the rollback is on record; every approval, grant and key after that point counts as spent. Stops, acceptances "
      "and resolutions of the lost part are gone as well: look at them before clients go on");
}

}  // namespace

int rotate_key_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  return run(invocation, terminal, invocation.checkpoint_key ? rotate_checkpoint : rotate);
}

int accept_rollback_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  return run(invocation, terminal, accept_rollback);
}

int newest_checkpoint_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  auto folder = state_folder_of(invocation);
  if (!folder) return cli::complain(terminal, folder.error().message, "name the state folder with --state");
  auto text = SystemFiles().read(*folder + "/" + std::string(kCheckpointFile), 64U << 10);
  if (!text)
    return cli::complain(terminal, text.error().message, "a gateway makes the first checkpoint when it starts");
  terminal.out(invocation.json ? fmt::format("{{\"checkpoint\":{}}}\n", quote(text->bytes)) : text->bytes);
  return cli::kYes;
}

}  // namespace sallyport::gateway
