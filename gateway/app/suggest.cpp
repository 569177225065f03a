// `policy suggest`: a draft from the recorded calls, on standard output.
#include <map>
#include <tuple>

#include "gateway/app/local_commands.hpp"
#include "gateway/app/recorded.hpp"
#include "policy/evaluate/suggest.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::gateway {

int policy_suggest_command(const cli::Invocation& invocation, cli::Terminal& terminal) {
  const auto config = load_or_complain(invocation, terminal);
  if (!config) return cli::kCouldNot;
  std::map<std::tuple<std::string, std::string, std::string, Verdict, bool>, std::uint64_t> counts;
  const Status read = each_recorded(invocation, [&](const RecordedCall& call) {
    if (call.method != Method::tools_call || !decided_by_rules(call)) return;
    counts[{call.server, call.tool, call.principal, call.verdict, call.effect.is_read()}] += call.count;
  });
  if (!read)
    return cli::complain(terminal, read.error().message, "name a log as `sallyport receipts export` writes it");
  std::vector<policy::Seen> seen;
  for (const auto& [key, count] : counts) {
    const auto& [server, tool, principal, verdict, is_read] = key;
    seen.push_back({server, tool, principal, verdict, is_read, count});
  }
  if (seen.empty())
    return cli::complain(terminal, "the log holds no call that the rules decided: nothing to draft from");
  const VocabularyOwner words(*config->settings, *config->book->trust, *config->book->lock);
  const std::string draft = policy::suggest(seen, words.vocabulary(), config->book->policy->default_verdict);
  terminal.out(invocation.json ? "{\"policy\":" + quote(draft) + "}\n" : draft);
  return cli::kYes;
}

}  // namespace sallyport::gateway
