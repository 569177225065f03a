// Calls: the way of a call (design section 3) from the client's request to the answer, with its operation, approval and
// receipts. On the loop. gateway/README.md tells the life of a call; phases.hpp lists the judging steps.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/base/clock.hpp"
#include "gateway/base/metrics.hpp"
#include "gateway/base/task_group.hpp"
#include "gateway/calls/answer.hpp"
#include "gateway/calls/findings.hpp"
#include "gateway/calls/flight.hpp"
#include "gateway/calls/grants.hpp"
#include "gateway/calls/last_call.hpp"
#include "gateway/calls/operation_table.hpp"
#include "gateway/calls/phases.hpp"
#include "gateway/calls/server_health.hpp"
#include "gateway/ports/definitions.hpp"
#include "gateway/ports/inbound.hpp"
#include "gateway/ports/permitted_call.hpp"
#include "gateway/ports/server_link.hpp"
#include "gateway/ports/settings.hpp"
#include "gateway/ports/snapshot.hpp"
#include "gateway/ports/store.hpp"
#include "trust/approvals/approval.hpp"
#include "trust/approvals/binding.hpp"
#include "trust/receipts/receipt.hpp"

namespace sallyport::gateway {
class HttpClient;
}

namespace sallyport::gateway::calls {

// What receipts say of this process.
struct Identity {
  std::string version;
  std::string boot;      // 6 hex digits, new at each start
  std::string boundary;  // `service`, `client-started` or `wrap`
};

// The reason of asks and grants that a stop has ended begins so.
inline constexpr std::string_view kStopped = "stopped: ";

// A setting of the store, written where a rollback is accepted: milliseconds, as text.
inline constexpr std::string_view kKeysDoubtfulUntil = "rollback.keysDoubtfulUntil";

struct CallsOptions {
  Identity identity;
  LimitSettings limits;
  std::vector<Person> people;                               // who could answer an ask
  std::map<std::string, Millis> server_timeout;             // default deadline per server; else 5 minutes
  Millis between_looks{5'000};                              // at an unknown operation
  std::function<void(const std::string& approval)> on_ask;  // an ask was made or has changed; may be empty
  std::string console;                                      // address that people reach it at, for links; may be empty
  // `require` rules whose evidence a run needs to be complete; nullopt: there is no contract, and no
  // `sallyport_finish`.
  std::optional<std::vector<std::string>> run_evidence;
};

// What ends an unknown operation, or leaves it unknown after a look.
struct Settlement {
  std::string operation;
  Event event = Event::prove_applied;
  std::string basis;  // `operator`, `lookup`, `same-key`, `late-answer`
  std::string by;     // the person; empty: the gateway
  std::string reason;
  std::vector<std::string> evidence;  // receipts that it rests on
  json::Value result;                 // the tool's result, where there is one after all
};

struct Reserved;  // budgets.hpp

class Calls final : private Context {
 public:
  // All references outlive this.
  Calls(asio::any_io_executor loop, CallsOptions options, Store& store, Servers& servers, const Snapshots& snapshots,
        Definitions& definitions, Clock& clock, Entropy& entropy, Metrics& metrics);
  ~Calls() override;

  // Before the listeners open: every operation that was under way becomes unknown, with a receipt; open ones are
  // loaded.
  asio::awaitable<Status> recover();
  // `tools/call`, the gateway's own tools included.
  asio::awaitable<Answer> tools_call(Inbound inbound);
  // resources/read, prompts/get, completion/complete: refusals are JSON-RPC errors.
  asio::awaitable<Answer> other_call(Inbound inbound, Method method, Target target);
  // tasks/get, tasks/update and tasks/cancel of a modern client.
  asio::awaitable<Answer> task_call(Inbound inbound);
  [[nodiscard]] static bool knows_task_method(std::string_view method);
  // What such a call would be refused with by rules, stops and what is unknown; nullopt: not. Leaves no trace.
  [[nodiscard]] std::optional<Answer> denied(const Inbound& inbound, Method method, Target target) const;
  // Whether rules, stops and what is unknown would let this client read that now.
  [[nodiscard]] bool may_read(std::shared_ptr<const ClientContext> client, std::string server,
                              const std::string& uri) const;
  // A call that the bound of its session refused before anything was read of it, and that was answered so: equal ones
  // are counted in one receipt.
  void over_limit(const Inbound& inbound, Method method);
  // Raw tool objects of the gateway's own tools.
  [[nodiscard]] std::vector<std::string> own_tools() const;

  // Whoever changed an approval, a stop or an operation in the store tells here (the Desk does).
  void approval_changed(const std::string& id);
  void stop_changed(const StopRow& stop);         // made or lifted
  void grant_changed(const trust::Grant& grant);  // used or ended
  void grant_made(const trust::Grant& grant);
  [[nodiscard]] bool can_record() const;  // false: no further call is taken, and the process should end
  void configuration_changed();           // what waits is decided again
  void set_console(std::string address) { options_.console = std::move(address); }
  void set_people(std::vector<Person> people) { options_.people = std::move(people); }  // who could answer an ask
  void on_late_answer(LateAnswer late);
  // Ends an unknown operation by a person or by evidence. not_found, conflict, forbidden.
  asio::awaitable<Result<OperationRow>> resolve(Settlement settlement);
  // The same within a transaction of somebody else's: prepare() before it, settle_in() in it, settled() after it.
  struct Settling {
    Settlement settlement;
    trust::ReceiptBody body;
    OperationRow row;
    UnixMillis now = 0;
  };
  [[nodiscard]] Result<Settling> prepare(Settlement settlement) const;
  [[nodiscard]] static Status settle_in(Tx& tx, Settling& settling);
  void settled(const Settling& settling);
  asio::awaitable<void> sweep();          // expiry of asks and grants, lookups that are due; called by a timer
  asio::awaitable<void> sweep_budgets();  // counters that nobody will ask for again; seldom
  // The time that counts for an ask: not before its expiry once that has passed on the monotonic clock, whatever was
  // done to the wall clock meanwhile.
  [[nodiscard]] UnixMillis time_for(const std::string& approval) const;
  [[nodiscard]] std::span<const Granted> grants() const { return grants_; }
  // No new calls; open ones get until the deadline, then are cancelled and concluded as what is known of them.
  asio::awaitable<void> shutdown(Deadline deadline);

  [[nodiscard]] Store& store() { return store_; }
  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] Entropy& entropy() { return entropy_; }
  [[nodiscard]] const CallsOptions& options() const { return options_; }
  [[nodiscard]] std::size_t in_flight() const { return flights_.size(); }
  [[nodiscard]] trust::ReceiptBody receipt(trust::ReceiptKind kind) const;  // with gateway and time

  [[nodiscard]] const Context& context() const { return *this; }  // for rehearsals

  using FlightPtr = std::shared_ptr<Flight>;
  struct Finish;  // runs.cpp

 private:
  enum class Ask : unsigned char { approved, again, dormant, refused };

  // Context
  [[nodiscard]] std::span<const OperationRow> unknowns() const override { return unknowns_; }
  [[nodiscard]] std::span<const StopRow> stops() const override { return stops_; }
  [[nodiscard]] std::string fingerprint(std::string_view bytes) const override { return store_.fingerprint(bytes); }
  [[nodiscard]] UnixMillis keys_doubtful_until() const override { return keys_doubtful_until_; }

  // engine.cpp
  void start(const FlightPtr& flight, asio::awaitable<void> way);  // work(), or start_leg()'s
  asio::awaitable<void> drive(FlightPtr flight, asio::awaitable<void> way);
  asio::awaitable<void> work(FlightPtr flight);
  void weigh(Call& call) const;
  asio::awaitable<void> decide(FlightPtr flight);
  asio::awaitable<void> read_revision(Call& call);
  void give_up(const FlightPtr& flight);
  [[nodiscard]] bool is_current(const Judgement& judged) const;
  void finish(const FlightPtr& flight);
  void forget_fingerprint(const OperationRow& row);

  // wants.cpp: evidence and hooks
  asio::awaitable<std::vector<policy::EvidenceFound>> find_evidence(FlightPtr flight);
  struct EvidenceState {
    policy::EvidenceFound found;
    std::optional<EvidenceBasis> basis;  // where it is current
  };
  asio::awaitable<std::vector<EvidenceState>> current_evidence(OperationRow cause, std::vector<EvidenceWanted> wanted);
  asio::awaitable<std::vector<policy::HookAnswer>> ask_hooks(FlightPtr flight);
  asio::awaitable<void> deny_repeat(FlightPtr flight);
  [[nodiscard]] bool write_open(const trust::Scope& scope, std::string_view but_operation) const;
  [[nodiscard]] std::vector<std::string> evidence_rules(const Call& call) const;
  static Status keep_evidence(Tx& tx, const Call& call, const std::vector<std::string>& rules,
                              const std::string& receipt);

  // server_revision.cpp
  asio::awaitable<Result<std::string>> read_server_revision(OperationRow cause, trust::Revision revision,
                                                            std::string arguments);
  asio::awaitable<Result<std::string>> server_revision(Call& call);
  asio::awaitable<bool> revision_holds(FlightPtr flight);
  asio::awaitable<void> note_state(FlightPtr flight);
  asio::awaitable<std::optional<std::string>> state_moved(OperationRow cause, const trust::Contract* contract,
                                                          StateSeen state);

  // attach.cpp: the client's side
  asio::awaitable<Answer> run(Inbound inbound, Request request);
  asio::awaitable<Answer> attend(FlightPtr flight, Inbound inbound);
  [[nodiscard]] Answer answer_of(const FlightPtr& flight);
  [[nodiscard]] FlightPtr new_flight(Request request, UnixMillis received);
  [[nodiscard]] static Result<std::string> client_key(const Inbound& inbound);
  asio::awaitable<Status> count_budgets(FlightPtr flight);
  struct OverLimit {
    std::shared_ptr<const ClientContext> client;  // of the newest
    std::size_t count = 0;                        // not on record yet
  };
  asio::awaitable<void> record_over_limit(std::string principal, Method method);
  void delivered(std::string operation, bool in_full, bool as_task = false);
  [[nodiscard]] static bool is_kept(const OperationRow& row);

  // repeat.cpp: what is the same operation (design section 7)
  struct Repeat {
    FlightPtr flight;              // join this one
    std::optional<Answer> answer;  // or take this
  };
  asio::awaitable<Repeat> find_repeat(FlightPtr flight);
  asio::awaitable<std::optional<OperationRow>> find_same(Call& call);
  asio::awaitable<Repeat> resume(OperationRow row, std::shared_ptr<const ClientContext> client);
  asio::awaitable<std::optional<Answer>> replay(OperationRow row);
  void record_repeat(const Call& call, const OperationRow& same);

  // ask.cpp
  asio::awaitable<Ask> ask(FlightPtr flight);
  asio::awaitable<Status> open_ask(FlightPtr flight);
  asio::awaitable<Ask> wait_for_answer(FlightPtr flight);
  static bool refuse_ended(Call& call, const trust::Approval& approval, UnixMillis now);
  [[nodiscard]] bool may_ask(std::string_view principal) const;
  asio::awaitable<Result<LastCall>> last_call(const Call& call);
  asio::awaitable<Result<trust::Approval>> load_approval(std::string id);
  struct Ending {
    trust::ApprovalEvent event;
    Ask then = Ask::refused;
    std::optional<Refusal> refusal;
    std::vector<trust::Grant> grants;  // that the call goes on with
  };
  [[nodiscard]] std::optional<Ending> ending_of(const Flight& flight, const trust::Approval& approval, UnixMillis now);
  [[nodiscard]] std::string withdrawn_voter(const trust::Approval& approval) const;
  asio::awaitable<Result<bool>> end_ask(FlightPtr flight, trust::ApprovalEvent event);
  asio::awaitable<Result<bool>> change_ask(FlightPtr flight, std::string id, trust::ApprovalEvent event);
  void forget_waiting(const std::string& approval);
  void note_waiting(const FlightPtr& flight);
  [[nodiscard]] trust::Binding binding_of(const Call& call) const;

  // session_user.cpp: the client's own user answers
  struct ToAsk {
    ClientChannel* channel = nullptr;  // there until `question` is cancelled
    std::shared_ptr<Cancel> question;
    bool by_form = false, by_url = false;
  };
  [[nodiscard]] static bool takes_session_user(const Judgement& judged);
  void ask_session_users(const FlightPtr& flight);
  asio::awaitable<void> ask_session_user(FlightPtr flight, ToAsk whom);
  static void withdraw_questions(const FlightPtr& flight);

  // attempts.cpp
  asio::awaitable<std::shared_ptr<ServerLink>> connect(FlightPtr flight);
  asio::awaitable<bool> probe(FlightPtr flight, std::shared_ptr<ServerLink> link);
  asio::awaitable<ServerAnswer> send(FlightPtr flight, std::shared_ptr<ServerLink> link, PermittedCall permit);
  [[nodiscard]] bool goes_again(const Flight& flight, Proof proof);
  asio::awaitable<bool> pause(FlightPtr flight, Millis asked);
  [[nodiscard]] bool still_permitted(const Call& call) const;
  void refuse_server(Call& call, const Error& error, std::string_view what);
  [[nodiscard]] ServerHealth& health_of(const std::string& server, const std::string& principal);
  [[nodiscard]] ServerHealth& health_of(const Call& call);
  void note_health(const Call& call, const ServerAnswer& answer, Proof proof);

  // own_reads.cpp: the gateway's own calls, named by the trust file
  struct OwnAnswer {
    std::shared_ptr<const json::Document> document;
    json::Value structured;  // an object
    std::string receipt;
  };
  [[nodiscard]] Status prepare_own_read(Call& call, const std::string& tool) const;
  asio::awaitable<Result<OwnAnswer>> read_for(OperationRow cause, std::string tool, std::string arguments);

  // reconcile.cpp
  static Settlement of_late_answer(const std::string& operation, const ServerAnswer& answer);
  [[nodiscard]] const trust::Contract* contract_of(const OperationRow& row) const;
  asio::awaitable<void> reconcile(std::string operation);
  asio::awaitable<Result<OwnAnswer>> look_up(OperationRow row, trust::OwnCall lookup);
  asio::awaitable<std::string> bar_to_resend(FlightPtr flight);
  asio::awaitable<void> resend(FlightPtr flight);
  asio::awaitable<void> tell_reconciled(FlightPtr flight);
  void look_at_unknowns();
  [[nodiscard]] bool may_resend(const Call& call, const OperationRow& same) const;

  // use_grants.cpp
  [[nodiscard]] std::vector<trust::Grant> find_grants(const Call& call) const;
  Status load_grants(Tx& tx);
  asio::awaitable<void> void_grants();
  asio::awaitable<void> end_grant(trust::Grant grant);

  // record.cpp, dispatch.cpp, conclude.cpp
  asio::awaitable<Result<PermittedCall>> record(FlightPtr flight);
  asio::awaitable<Status> record_read(FlightPtr flight, const OperationRow& row, UnixMillis now);
  trust::ReceiptBody intend_again(const Call& call, OperationRow& row, UnixMillis now) const;
  asio::awaitable<Result<PermittedCall>> record_attempt(FlightPtr flight, ServerAnswer answer, Finding finding);
  asio::awaitable<Result<PermittedCall>> record_leg(FlightPtr flight);
  asio::awaitable<Result<PermittedCall>> record_resend(FlightPtr flight);
  Result<PermittedCall> record_own_read(Call& call);
  asio::awaitable<Result<std::optional<std::uint64_t>>> revision_before(Call& call);
  static void note_unrecorded(Call& call, const Error& error, const Reserved& reserved);
  asio::awaitable<ServerAnswer> dispatch(FlightPtr flight, std::shared_ptr<ServerLink> link, PermittedCall permit);
  asio::awaitable<void> conclude(FlightPtr flight, ServerAnswer answer);
  [[nodiscard]] std::vector<std::string> fulfilled(const Call& call, const OperationRow& row,
                                                   const ServerAnswer& answer, bool doubtful) const;
  asio::awaitable<void> conclude_refused(FlightPtr flight);
  void answer_refused(const FlightPtr& flight, const Refusal& refusal, CallMeta meta);
  [[nodiscard]] trust::ReceiptBody receipt_of_attempt(const Call& call, const OperationRow& row,
                                                      const ServerAnswer& answer, const Finding& finding) const;
  void set_answer(const FlightPtr& flight, const ServerAnswer& answer, trust::ResultStatus status,
                  const std::optional<std::string>& withheld, const std::string& warning, CallMeta& meta);
  void remember(const OperationRow& row);

  // input.cpp: what a modern server wants to know before it goes on
  struct Leg {
    std::shared_ptr<ServerLink> link;
    PermittedCall permit;
  };
  asio::awaitable<void> run_legs(FlightPtr flight, std::shared_ptr<ServerLink> link, PermittedCall permit);
  asio::awaitable<bool> get_input(FlightPtr flight, ServerAnswer answer);
  asio::awaitable<bool> ask_client(FlightPtr flight, ServerAnswer answer);
  void park(const FlightPtr& flight, const ServerAnswer& answer);
  asio::awaitable<std::optional<Leg>> next_leg(FlightPtr flight);
  asio::awaitable<void> conclude_unasked(FlightPtr flight);
  asio::awaitable<Answer> continue_call(Inbound inbound, Request request);
  void start_leg(const FlightPtr& flight);
  asio::awaitable<void> go_on(FlightPtr flight);
  void close_parked(bool all);

  // questions.cpp: what a server asks of the client while its call is open
  [[nodiscard]] std::string refuse_question(const Call& call, const ServerQuestion& question) const;  // empty: it may
  [[nodiscard]] static std::shared_ptr<const json::Document> label_question(const ServerQuestion& question);
  asio::awaitable<ClientReply> pass_question(FlightPtr flight, ServerQuestion question);

  // fold.cpp: equal refusals share a receipt
  struct Fold {
    std::string operation, receipt;  // of the first refusal; of the receipt that will count the others
    std::uint64_t count = 0;         // of the others
    UnixMillis since = 0;
    trust::ReceiptBody body;
  };
  [[nodiscard]] std::string fold_key(const Call& call) const;
  asio::awaitable<bool> fold(std::string key, Call& call, CallMeta& meta);
  void open_fold(std::string key, const Call& call, const trust::ReceiptBody& body);
  asio::awaitable<void> close_folds(UnixMillis before);
  [[nodiscard]] std::string open_folds() const;
  static Status recover_folds(Tx& tx, const trust::ReceiptBody& blank);

  // receipts.cpp
  [[nodiscard]] trust::ReceiptBody body_of(const Call& call, trust::ReceiptKind kind) const;

  asio::awaitable<Status> load_open();
  asio::awaitable<void> close_dormant(std::string approval);
  asio::awaitable<void> expire(std::string approval, UnixMillis now);
  void remember_denial(const OperationRow& row, const Refusal& refusal);
  asio::awaitable<void> settle(Settlement settlement, std::shared_ptr<const json::Document> keep_alive);

  // tasks.cpp: a modern client that need not wait
  static constexpr std::chrono::milliseconds kTaskAfter{1'000};
  [[nodiscard]] Answer make_task(const FlightPtr& flight);
  [[nodiscard]] Answer ended_task(const OperationRow& row, Answer ended);
  static asio::awaitable<void> look_in(FlightPtr flight, std::shared_ptr<const ClientContext> client,
                                       ClientChannel* channel);
  void take_task(const FlightPtr& flight);

  // own_calls.cpp
  asio::awaitable<Answer> own_call(Inbound inbound, Request request);
  asio::awaitable<Answer> wait_call(Inbound inbound, Request request);
  static Answer invalid_own_call(const std::string& sentence, ReasonCode code = ReasonCode::arguments_invalid);

  // runs.cpp
  [[nodiscard]] std::string run_of(const ClientContext& client, UnixMillis now);
  asio::awaitable<void> recall_run(std::shared_ptr<const ClientContext> client);
  void end_quiet_runs(UnixMillis now);
  [[nodiscard]] static std::vector<BudgetUse> budgets_of_finish(const Snapshot& snapshot, const Call& call);
  asio::awaitable<Answer> finish_call(Inbound inbound, Request request);
  asio::awaitable<Finish> look_at_run(const Call& call);
  asio::awaitable<Status> record_finish(const Call& call, Finish& finish);
  [[nodiscard]] static Answer finish_answer(const Call& call, const Finish& finish);
  asio::awaitable<std::optional<OperationRow>> find_operation(std::string id);

  [[nodiscard]] Deadline deadline_for(const Call& call) const;
  [[nodiscard]] Millis time_of(const OperationRow& row, const trust::Contract* contract) const;
  [[nodiscard]] bool may_start(const Call& call) const;

  CallsOptions options_;
  Store& store_;
  Servers& servers_;
  const Snapshots& snapshots_;
  Definitions& definitions_;
  Clock& clock_;
  Entropy& entropy_;
  Metrics& metrics_;
  asio::any_io_executor loop_;
  bool closing_ = false;
  // Requests that are being attended to, those without a flight among them: none may outlive this object.
  struct InHand {
    explicit InHand(Calls& calls) : calls_(calls) { ++calls_.in_hand_; }
    ~InHand() {
      if (--calls_.in_hand_ == 0) calls_.none_in_hand_.notify();
    }
    InHand(const InHand&) = delete;
    InHand& operator=(const InHand&) = delete;

   private:
    Calls& calls_;
  };
  std::size_t in_hand_ = 0;
  Signal none_in_hand_;
  bool recording_lost_ = false;  // an outcome could not be stored: no further call is taken (promise 7)

  std::unordered_map<std::string, FlightPtr> flights_;  // by operation
  struct Parked {
    FlightPtr flight;
    Deadline until;
  };
  std::unordered_map<std::string, Parked> parked_;  // by operation: the client was asked, and comes back or does not
  std::set<Flight*> own_reads_;                     // of the gateway's own, while they are under way
  struct Known {
    std::string operation;
    UnixMillis at = 0;
  };
  struct Waiting {
    std::string principal;
    UnixMillis expires = 0;
    Deadline until;  // the same on the monotonic clock
  };
  std::unordered_map<std::string, Known> by_fingerprint_;         // open or undelivered -> operation; for a day
  std::unordered_map<std::string, Waiting> waiting_;              // asks that are not answered, or not spent
  std::unordered_map<std::string, std::string> by_approval_;      // ap_… -> operation, while a flight asks
  std::unordered_map<std::string, std::uint32_t> per_principal_;  // flights
  std::unordered_map<std::string, Refusal> denied_;  // run and fingerprint: a denial holds for the rest of the run
  std::unordered_map<std::string, Fold> folds_;      // by who, what and why
  std::map<std::pair<std::string, Method>, OverLimit> over_limit_;  // by principal; each with its task
  struct Standing {
    std::string run;
    UnixMillis used = 0;
    UnixMillis saved = 0;  // as the store knows `used`
  };
  std::unordered_map<std::string, Standing> standing_runs_;  // by principal
  struct Looks {
    int tried = 0;
    bool looking = false;
    Deadline next;     // not before
    Deadline at_work;  // until then the server may still be doing it: absence proves nothing
  };
  std::map<std::string, Looks> looks_;  // lookups of unknown operations in this life of the process
  std::map<std::pair<std::string, std::string>, ServerHealth> health_;  // by server and principal
  std::vector<OperationRow> unknowns_;
  std::vector<StopRow> stops_;
  UnixMillis keys_doubtful_until_ = 0;
  std::vector<Granted> grants_;        // in force
  std::uint64_t epoch_ = 0;            // moves with unknowns_ and stops_
  std::unique_ptr<HttpClient> hooks_;  // made when the first hook is asked
  TaskGroup tasks_;
};

}  // namespace sallyport::gateway::calls
