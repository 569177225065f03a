#include "gateway/cli/verbs.hpp"

#include <CLI/CLI.hpp>

namespace sallyport::gateway::cli {
namespace {

using Commands = std::map<const CLI::App*, Command>;

struct Adder {
  CLI::App& app;
  Invocation& out;
  Commands& commands;

  CLI::App* verb(CLI::App& parent, const std::string& name, Command command, const std::string& help,
                 const std::string& examples) {
    CLI::App* sub = parent.add_subcommand(name, help);
    sub->footer("Examples:\n" + examples + "\nOptions of every command: `sallyport --help`.\n");
    sub->fallthrough();
    commands[sub] = command;
    return sub;
  }
  CLI::App* group(const std::string& name, const std::string& help) {
    CLI::App* sub = app.add_subcommand(name, help);
    sub->require_subcommand(1);
    sub->fallthrough();
    sub->footer("Examples: `sallyport " + name + " COMMAND --help`.\n");
    return sub;
  }
  void id(CLI::App* sub, const std::string& what) { sub->add_option("ID", out.id, what)->required()->type_name(""); }
  void reason(CLI::App* sub, bool required) {
    sub->add_option("--reason", out.reason, "Why; it goes into the receipt")->type_name("TEXT")->required(required);
  }
  void limit(CLI::App* sub) {
    sub->add_option("--limit", out.limit, "At most so many (default 50)")->check(CLI::Range(1, 1000))->type_name("N");
  }
  void tool_operands(CLI::App* sub, bool required) {
    sub->add_option("SERVER", out.server, "The server's id")->required(required)->type_name("");
    sub->add_option("TOOL", out.tool, "The tool's own name")->required(required)->type_name("");
  }
  void arguments(CLI::App* sub) {
    sub->add_option("JSON", out.arguments, "The arguments: a JSON object, @FILE, or - for standard input")
        ->type_name("");
  }
  void since(CLI::App* sub) {
    const char* form = "a time: 2h, tuesday, yesterday, 09:30, 2026-11-30, 2026-11-30T09:30Z (others: local time)";
    sub->add_option("--since", out.query.since, std::string("From then on; ") + form)->type_name("TIME");
    sub->add_option("--until", out.query.until, "Before then")->type_name("TIME");
  }
  void yes(CLI::App* sub, const std::string& what) { sub->add_flag("--yes,-y", out.yes, what); }
  void offline(CLI::App* sub, const std::string& what) { sub->add_flag("--offline", out.offline, what); }
};

void duration(CLI::App* sub, const std::string& name, std::optional<Millis>& into, const std::string& help) {
  sub->add_option_function<std::string>(
         name, [&into](const std::string& text) { into = parse_duration(text); }, help)
      ->check(CLI::Validator(
          [](const std::string& text) {
            return parse_duration(text) ? std::string() : "`" + text + "` is no duration; write 45s, 10m or 24h";
          },
          "DURATION"));
}

void add_gateway(Adder& add) {
  Invocation& out = add.out;
  CLI::App* init =
      add.verb(add.app, "init", Command::init, "Write the first config from the lists of servers of your clients",
               "  sallyport init ~/.cursor/mcp.json\n  sallyport init claude_desktop_config.json --folder ./gate\n");
  init->add_option("FILE", out.files, "Config files of clients, with their `mcpServers`")->required()->type_name("");
  init->add_option("--folder", out.folder, "Where to write (default: the user's config folder)")->type_name("DIR");
  add.yes(init, "Do not ask: take what is proposed");

  CLI::App* serve = add.verb(add.app, "serve", Command::serve, "Run the gateway: clients, control side, servers",
                             "  sallyport serve\n  sallyport serve --config ./sallyport.jsonc --log json\n");
  serve->add_option("--port", out.port, "For clients, instead of the config's; 0: any free one")->type_name("PORT");
  serve->add_option("--control-port", out.control_port, "For people, instead of the config's; 0: any free one")
      ->type_name("PORT");
  serve->add_option("--log", out.log, "text or json (default text)")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORM");
  duration(serve, "--idle-exit", out.idle_exit, "End after so long without a client");
  serve->add_flag("--client-started", out.client_started, "")->group("");  // said by stdio and wrap
  serve->add_flag("--wrapped", out.wrapped, "")->group("");

  CLI::App* stdio =
      add.verb(add.app, "stdio", Command::stdio, "Speak MCP on standard input and output, through the gateway",
               "  sallyport stdio\n  sallyport stdio --server files\n");
  stdio->add_option("--server", out.server, "That server alone, with its own names")->type_name("ID");

  add.verb(add.app, "wrap", Command::wrap, "Put the gateway in front of one stdio server, without any file",
           "  sallyport wrap -- npx -y @modelcontextprotocol/server-filesystem /srv/data\n");
}

void add_rules(Adder& add) {
  Invocation& out = add.out;
  CLI::App* check = add.verb(add.app, "check", Command::check, "Find every fault of config, trust and policy at once",
                             "  sallyport check\n  sallyport check --offline --config ./sallyport.jsonc\n");
  add.offline(check, "Without servers and secrets");

  CLI::App* lint = add.verb(add.app, "lint", Command::lint, "Find what is wrong with a server's tools, for its author",
                            "  sallyport lint tools.json\n  sallyport lint -- node build/index.js\n"
                            "  sallyport lint --call --json https://mcp.example/mcp\n");
  lint->add_option("FILE", out.file, "A tools/list result or a list of tools (-: standard input); or the server's URL")
      ->type_name("");
  lint->add_flag("--call", out.call_tools,
                 "Also call the tools that promise to change nothing and need no arguments, and judge their results");
  lint->add_flag("--strict", out.strict, "Exit 1 for warnings too");

  CLI::App* tools = add.verb(add.app, "tools", Command::tools, "Every tool: declared, assigned and effective",
                             "  sallyport tools\n  sallyport tools files --json\n");
  tools->add_option("SERVER", out.server, "Of that server only")->type_name("");
  add.offline(tools, "From the lock file, without servers");

  CLI::App* call = add.verb(add.app, "call", Command::call, "Call a tool as yourself, by the same rules as everybody",
                            "  sallyport call files read_file '{\"path\":\"/srv/data/a.txt\"}'\n");
  add.tool_operands(call, true);
  add.arguments(call);

  CLI::App* explain =
      add.verb(add.app, "explain", Command::explain, "What the rules would say, rule by rule; runs nothing",
               "  sallyport explain orders refund '{\"amount\":40}' --principal agent:ci\n");
  add.tool_operands(explain, true);
  add.arguments(explain);
  explain->add_option("--principal", out.principal, "The client that would call")->type_name("ID");
  add.offline(explain, "From the files, without a gateway");

  CLI::App* fingerprint = add.verb(
      add.app, "fingerprint", Command::fingerprint,
      "Digests of what is in force, of this build with its limits, and of one call; equal files give equal ones",
      "  sallyport fingerprint\n  sallyport fingerprint orders refund '{\"amount\":40}' --principal agent:ci\n");
  add.tool_operands(fingerprint, false);
  add.arguments(fingerprint);
  fingerprint->add_option("--principal", out.principal, "The client that would call")->type_name("ID");

  CLI::App* trust = add.group("trust", "Look at what servers say of their tools and prompts, and accept it");
  CLI::App* accept = add.verb(*trust, "accept", Command::trust_accept, "Show what is new or changed, and accept it",
                              "  sallyport trust accept\n  sallyport trust accept orders refund\n");
  add.tool_operands(accept, false);
  add.yes(accept, "Do not ask");
  accept->add_option("--shown", out.shown, "Accept if the review still has this digest")->type_name("DIGEST");
  accept->add_flag("--also", out.also, "Keep what is accepted already: replicas and deploys that differ for a while");
  CLI::App* diff =
      add.verb(*trust, "diff", Command::trust_diff, "What differs from what was accepted; exit 1 if anything does",
               "  sallyport trust diff\n  sallyport trust diff orders --report > for-the-owner.md\n");
  add.tool_operands(diff, false);
  diff->add_flag("--report", out.report, "As Markdown, for the server's owner");
  CLI::App* show = add.verb(*trust, "show", Command::trust_show, "Every definition, accepted or not",
                            "  sallyport trust show files\n");
  add.tool_operands(show, false);
  add.offline(show, "From the lock file, without servers");

  CLI::App* policy = add.group("policy", "Work on the rules");
  CLI::App* test = add.verb(*policy, "test", Command::policy_test, "Run the tests that stand in the policy",
                            "  sallyport policy test\n  sallyport policy test --coverage\n");
  test->add_flag("--coverage", out.coverage, "Name the rules that no test touches; exit 1 if there are any");
  CLI::App* take =
      add.verb(*policy, "accept", Command::policy_accept, "Show what a changed file would loosen, and put it in force",
               "  sallyport policy accept\n  sallyport policy accept --shown sha256:…\n");
  add.yes(take, "Do not ask");
  take->add_option("--shown", out.shown, "Accept if just this still waits")->type_name("DIGEST");
  CLI::App* differ = add.verb(*policy, "diff", Command::policy_diff,
                              "What becomes looser and what stricter, in words; exit 1 if anything may loosen",
                              "  sallyport policy diff\n  sallyport policy diff old.jsonc\n"
                              "  sallyport policy diff old.jsonc new.jsonc\n");
  differ->add_option("POLICY", out.files, "The old one and the new one (default: the config's); none: what waits")
      ->expected(0, 2)
      ->type_name("");
  CLI::App* replay = add.verb(*policy, "replay", Command::policy_replay,
                              "Which recorded calls another policy would have decided otherwise; exit 1 if looser",
                              "  sallyport policy replay --policy new.jsonc\n"
                              "  sallyport policy replay log.jsonl --policy new.jsonc\n");
  replay->add_option("RECEIPTS", out.file, "A log as `receipts export` writes it, or - (default: the own log)")
      ->type_name("");
  replay->add_option("--policy", out.policy_file, "The policy to try (default: the config's)")->type_name("FILE");
  CLI::App* suggest = add.verb(*policy, "suggest", Command::policy_suggest,
                               "Draft a policy from recorded calls, never looser than they were",
                               "  sallyport policy suggest > draft.jsonc\n  sallyport policy suggest log.jsonl\n");
  suggest->add_option("RECEIPTS", out.file, "A log as `receipts export` writes it, or - (default: the own log)")
      ->type_name("");
  CLI::App* again = add.verb(add.app, "reload", Command::reload,
                             "Read the files again; what may loosen is shown and needs a yes", "  sallyport reload\n");
  add.yes(again, "Do not ask");
}

void add_approvals(Adder& add) {
  Invocation& out = add.out;
  CLI::App* group = add.group("approvals", "The calls that wait for a person");
  CLI::App* list = add.verb(*group, "list", Command::approvals_list, "What waits (or, with --only, what became of it)",
                            "  sallyport approvals list\n  sallyport approvals list --only denied\n");
  list->add_option("--only", out.state_filter, "pending (default), approved, denied, consumed, …, or all")
      ->check(CLI::IsMember(
          {"pending", "approved", "denied", "expired", "cancelled", "invalidated", "consumed", "revoked", "all"}))
      ->type_name("STATE");
  add.limit(list);
  add.verb(*group, "watch", Command::approvals_watch,
           "Show every ask as it comes; on a terminal, answer it by a, d and a reason",
           "  sallyport approvals watch\n");
  CLI::App* show = add.verb(*group, "show", Command::approvals_show, "One ask, with all that is bound",
                            "  sallyport approvals show ap_01KB…\n");
  add.id(show, "The approval's id");
  CLI::App* approve =
      add.verb(*group, "approve", Command::approvals_approve, "Show it, ask, and approve exactly what was shown",
               "  sallyport approvals approve ap_01KB…\n  sallyport approvals approve ap_01KB… --shown sha256:90ab…\n");
  add.id(approve, "The approval's id");
  add.reason(approve, false);
  add.yes(approve, "Do not ask: approve what this command shows");
  approve->add_flag_callback(
      "--this-run", [&out] { out.grant_within = "run"; },
      "Also answer the like of it for the rest of this run (where the rule takes grants)");
  approve->add_option("--until", out.grant_until, "Also answer the like of it until then: 2h, 17:30, 2026-11-30T17:00Z")
      ->type_name("TIME");
  approve->add_option("--uses", out.grant_uses, "Of --this-run or --until: at most so often")
      ->check(CLI::Range(1, 1000000))
      ->type_name("N");
  approve
      ->add_option("--where", out.arguments,
                   "Of --this-run or --until: conditions on the arguments, a JSON object; default: exactly these")
      ->type_name("JSON");
  approve->add_option("--shown", out.shown, "Approve only if this is still the digest of what is shown")
      ->type_name("DIGEST");
  CLI::App* deny = add.verb(*group, "deny", Command::approvals_deny, "Refuse it",
                            "  sallyport approvals deny ap_01KB… --reason \"wrong customer\"\n");
  add.id(deny, "The approval's id");
  add.reason(deny, false);
  CLI::App* revoke =
      add.verb(*group, "revoke", Command::approvals_revoke, "Take back an approval that was not spent yet",
               "  sallyport approvals revoke ap_01KB… --reason \"not today\"\n");
  add.id(revoke, "The approval's id");
  add.reason(revoke, false);
}

void add_grants(Adder& add) {
  Invocation& out = add.out;
  CLI::App* group = add.group("grants", "Answers given for a while");
  CLI::App* list = add.verb(*group, "list", Command::grants_list, "Grants in force, with their conditions in words",
                            "  sallyport grants list\n  sallyport grants list --only all\n");
  list->add_option("--only", out.state_filter, "granted (default): in force; all: those that have ended too")
      ->check(CLI::IsMember({"granted", "all"}))
      ->type_name("STATE");
  CLI::App* revoke = add.verb(*group, "revoke", Command::grants_revoke, "Take one back; calls ask again",
                              "  sallyport grants revoke gr_01KB… --reason \"run is over\"\n");
  add.id(revoke, "The grant's id");
  add.reason(revoke, false);
}

void add_operations(Adder& add) {
  Invocation& out = add.out;
  CLI::App* group = add.group("operations", "What was done, and what nobody knows of");
  CLI::App* list = add.verb(*group, "list", Command::operations_list, "Operations, the newest first",
                            "  sallyport operations list\n  sallyport operations list --only unknown\n");
  list->add_option("--only", out.state_filter, "open, unknown, or a state's name")
      ->check(CLI::IsMember({"open", "unknown", "received", "waiting", "ready", "refused", "intent", "sent",
                             "awaiting-input", "running", "applied", "failed", "reconciling", "resolved-applied",
                             "resolved-none"}))
      ->type_name("STATE");
  add.limit(list);
  CLI::App* show = add.verb(*group, "show", Command::operations_show, "One operation with its receipts",
                            "  sallyport operations show op_01KB…\n");
  add.id(show, "The operation's id");
  CLI::App* resolve = add.verb(*group, "resolve", Command::operations_resolve, "Say what became of an unknown one",
                               "  sallyport operations resolve op_01KB… applied --reason \"order 7 is in the shop\"\n");
  add.id(resolve, "The operation's id");
  resolve->add_option("OUTCOME", out.outcome, "applied or none")
      ->required()
      ->check(CLI::IsMember({"applied", "none"}))
      ->type_name("");
  add.reason(resolve, true);
}

void add_proofs(Adder& add, CLI::App& group) {
  Invocation& out = add.out;
  CLI::App* prove = add.verb(group, "prove", Command::receipts_prove,
                             "One receipt with the proof that a checkpoint covers it, for others to check",
                             "  sallyport receipts prove rc_01KB… > proof\n"
                             "  sallyport receipts verify --proof proof --checkpoint-key checkpoint.pub\n");
  add.id(prove, "The receipt's id");
  prove->add_option("--output", out.file, "Write it there")->type_name("FILE");
  CLI::App* open = add.verb(group, "open", Command::receipts_open,
                            "The arguments of a write, or whether these are they (auditor; leaves a receipt)",
                            "  sallyport receipts open rc_01KB…\n"
                            "  sallyport receipts open op_01KB… '{\"order_id\":\"7\",\"amount\":120}'\n");
  add.id(open, "The id of a receipt or an operation");
  add.arguments(open);
  CLI::App* duplicates =
      add.verb(group, "duplicates", Command::receipts_duplicates,
               "Calls that may have been carried out more than once, and how that is known; exit 1 if there are any",
               "  sallyport receipts duplicates --since 7d\n"
               "  sallyport receipts duplicates --since monday --server orders --tool refund\n");
  add.since(duplicates);
  duplicates->add_option("--server", out.query.server, "Of that server")->type_name("ID");
  duplicates->add_option("--tool", out.query.tool, "Of that tool")->type_name("NAME");
  CLI::App* checkpoint =
      add.verb(group, "checkpoint", Command::receipts_checkpoint,
               "A signed checkpoint over all there is now (operator or auditor); without a gateway, the newest one",
               "  sallyport receipts checkpoint > checkpoint\n"
               "  sallyport receipts checkpoint --accept-rollback --reason \"restored from backup 12\"\n");
  checkpoint->add_flag("--accept-rollback", out.accept_rollback,
                       "Go on with a log that is shorter than its checkpoints (operator, no gateway running)");
  add.reason(checkpoint, false);
}

void add_receipts(Adder& add) {
  Invocation& out = add.out;
  CLI::App* group = add.group("receipts", "The signed log of what was decided and done");
  CLI::App* list =
      add.verb(*group, "list", Command::receipts_list, "Receipts, the newest first",
               "  sallyport receipts list\n  sallyport receipts list --verdict deny --principal agent:ci\n"
               "  sallyport receipts list --since tuesday --until \"2026-12-02 09:00\" --outcome unknown\n");
  list->add_option("--operation", out.query.operation, "Of that operation")->type_name("ID");
  list->add_option("--principal", out.query.principal, "Of that client")->type_name("ID");
  list->add_option("--server", out.query.server, "Of that server")->type_name("ID");
  list->add_option("--tool", out.query.tool, "Of that tool")->type_name("NAME");
  list->add_option("--kind", out.query.kind, "intent, outcome, call, refusal, repeat, approval, policy, stop, …")
      ->check(CLI::IsMember({"intent", "outcome", "call", "refusal", "repeat", "approval", "reconciliation",
                             "definition", "policy", "run", "stop", "start", "access", "log", "key"}))
      ->type_name("KIND");
  list->add_option("--effect", out.query.effect, "unrated, read, file, record or external")
      ->check(CLI::IsMember({"unrated", "read", "file", "record", "external"}))
      ->type_name("EFFECT");
  add.since(list);
  list->add_option("--verdict", out.query.verdict, "allow, ask or deny")
      ->check(CLI::IsMember({"allow", "ask", "deny"}))
      ->type_name("VERDICT");
  list->add_option("--outcome", out.query.outcome, "none, applied or unknown")
      ->check(CLI::IsMember({"none", "applied", "unknown"}))
      ->type_name("OUTCOME");
  add.limit(list);
  CLI::App* show =
      add.verb(*group, "show", Command::receipts_show, "One receipt, and the whole story that it belongs to",
               "  sallyport receipts show rc_01KB…\n  sallyport receipts show op_01KB…\n");
  add.id(show, "The id of a receipt or an operation");
  CLI::App* verify = add.verb(
      *group, "verify", Command::receipts_verify, "Judge a log: form, signatures, chain, checkpoints",
      "  sallyport receipts verify\n  sallyport receipts verify log.jsonl --key receipts.pub --checkpoint anchor\n");
  verify->add_option("FILE", out.file, "A log as `export` writes it, or - (default: the state folder's own)")
      ->type_name("");
  verify->add_option("--key", out.key_files, "Public keys of receipts, PEM")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verify->add_option("--checkpoint", out.checkpoint_files, "Checkpoints kept elsewhere")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verify->add_option("--checkpoint-key", out.checkpoint_key_files, "Public keys of checkpoints, PEM")
      ->type_name("FILE")
      ->allow_extra_args(false);
  verify->add_option("--proof", out.proof_file, "One receipt with its proof, as `prove` writes it, instead of a log")
      ->type_name("FILE");
  verify->add_flag_callback("--no-signatures", [&out] { out.signatures = false; }, "Only form, chain and content");
  CLI::App* exported = add.verb(*group, "export", Command::receipts_export, "The whole log, one envelope a line",
                                "  sallyport receipts export > log.jsonl\n");
  exported->add_option("--output", out.file, "Write it there")->type_name("FILE");
  CLI::App* key = add.verb(*group, "key", Command::receipts_key, "The public keys that receipts are checked with",
                           "  sallyport receipts key > receipts.pub\n"
                           "  sallyport receipts key --checkpoint > checkpoint.pub\n"
                           "  sallyport receipts key --rotate --reason \"yearly\"      # while no gateway runs\n");
  key->add_flag("--checkpoint", out.checkpoint_key, "The key of checkpoints instead");
  key->add_flag("--rotate", out.rotate, "Go on with a new key; the old one signs that (operator, no gateway running)");
  add.reason(key, false);
  add_proofs(add, *group);
}

void add_people(Adder& add) {
  Invocation& out = add.out;
  CLI::App* show = add.verb(add.app, "show", Command::show, "The whole story of any id",
                            "  sallyport show op_01KB…\n  sallyport show ap_01KB…\n");
  add.id(show, "op_…, ap_…, rc_…, run_…, gr_… or st_…");
  CLI::App* stop =
      add.verb(add.app, "stop", Command::stop, "Refuse calls from now on; without a target: list what is stopped",
               "  sallyport stop --all --reason \"incident 12\"\n"
               "  sallyport stop --server orders --tool refund --reason \"wrong amounts\"\n"
               "  sallyport stop --lift --all --reason \"over\"\n  sallyport stop --lift st_01KB…\n");
  stop->add_option("ID", out.id, "The stop to lift")->type_name("");
  stop->add_flag_callback("--all", [&out] { out.stop_kind = "all"; }, "Everything");
  stop->add_option_function<std::string>(
          "--principal",
          [&out](const std::string& id) {
            out.stop_kind = "principal";
            out.stop_value = id;
          },
          "That client")
      ->type_name("ID");
  stop->add_option("--server", out.server, "That server")->type_name("ID");
  stop->add_option("--tool", out.tool, "That tool of --server")->type_name("NAME");
  add.reason(stop, false);
  stop->add_flag("--lift", out.lift, "Let it run again");
  add.yes(stop, "Also of a name that is not known: then that is no failure");
  add.verb(add.app, "status", Command::status, "Servers, store, what waits and what is unknown",
           "  sallyport status\n");
  add.verb(add.app, "login", Command::login,
           "Keep your token for this gateway, readable by you alone, and make a one-time code for its console",
           "  sallyport login\n  sallyport login --url https://gate.example:8721\n");
  CLI::App* token = add.group("token", "Credentials");
  add.verb(*token, "new", Command::token_new, "A new token, and the digest that goes into the config",
           "  sallyport token new\n");
}

}  // namespace

Commands add_verbs(CLI::App& app, Invocation& out) {
  Commands commands;
  Adder add{app, out, commands};
  add_gateway(add);
  add_rules(add);
  add_approvals(add);
  add_grants(add);
  add_operations(add);
  add_receipts(add);
  add_people(add);
  return commands;
}

}  // namespace sallyport::gateway::cli
