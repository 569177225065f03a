// Rules and the terms of approvals.
#include <algorithm>
#include <array>

#include "policy/conditions/places.hpp"
#include "policy/rules/reader.hpp"
#include "schemas/core/encoding.hpp"

namespace sallyport::policy {
namespace {

constexpr std::array<RuleKind, 5> kKinds{RuleKind::deny, RuleKind::ask, RuleKind::allow, RuleKind::require,
                                         RuleKind::hook};
constexpr std::size_t kMaxMessage = 2000;
constexpr Millis kMaxHookTimeout = std::chrono::seconds(30);

bool http_url(std::string_view url) {
  const std::size_t scheme = url.starts_with("https://") ? 8 : url.starts_with("http://") ? 7 : 0;
  if (scheme == 0 || url.size() > 2048) return false;
  const std::string_view rest = url.substr(scheme);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?"));
  return !authority.empty() && authority.find('@') == std::string_view::npos && std::ranges::all_of(url, [](char c) {
    return c > ' ' && static_cast<unsigned char>(c) < 0x7f && c != '#' && c != '\\';
  });
}

// In clear, arguments would be for everybody on the way to read, and the answer for everybody to give.
bool in_clear(std::string_view url) {
  if (!url.starts_with("http://")) return false;
  const auto place = url_host(url);
  if (!place) return true;
  const std::string& host = place->host;
  const bool address = host.find_first_not_of("0123456789.") == std::string::npos;
  const bool loopback =
      host == "localhost" || host.ends_with(".localhost") || host == "[::1]" || (address && host.starts_with("127."));
  return !loopback;
}

bool may_answer(const Person& person, const ApprovalTerms& terms) {
  if (!person.has(Role::approver)) return false;
  return terms.by.empty() ||
         std::ranges::any_of(terms.by, [&](const std::string& by) { return by == person.id || person.in_group(by); });
}

}  // namespace

void Reader::check_quorum(const ApprovalTerms& terms, json::Value where) {
  const auto able =
      std::ranges::count_if(vocabulary_.people, [&](const Person& person) { return may_answer(person, terms); });
  const auto needed = static_cast<std::ptrdiff_t>(terms.quorum);
  if (able >= needed) return;
  const std::string words =
      able == 0 ? "nobody can answer this: no person with the role `approver` is named by `by`"
                : "`quorum` is " + std::to_string(terms.quorum) + ", and only " + std::to_string(able) + " can answer";
  // Who was taken away, or lost the role, could: that must be in force at once, and what asks is refused.
  const auto could =
      std::ranges::count_if(vocabulary_.former_people, [&](const Person& person) { return may_answer(person, terms); });
  could >= needed ? faults_.warning(where, words + " any more; the next start refuses it")
                  : faults_.error(where, words);
}

std::optional<ApprovalTerms> Reader::approval(json::Value value, const ApprovalTerms& base) {
  if (!object(value, "`approval`")) return std::nullopt;
  only(value, {"by", "expires", "quorum", "notOwner", "revision", "grants", "sessionUser"}, "`approval`");
  ApprovalTerms out = base;
  const std::size_t before = faults_.errors();
  if (const json::Value by = value.find("by")) {
    out.by.clear();
    for (const auto& [where, text] : words(by, "`by`")) {
      const auto named = [&](const Person& person) { return person.id == text || person.in_group(text); };
      if (std::ranges::any_of(vocabulary_.people, named)) {
        out.by.push_back(text);
        continue;
      }
      if (std::ranges::any_of(vocabulary_.former_people, named)) {
        gone(where, "group or person", text);
      } else {
        std::vector<std::string> known;
        for (const Person& person : vocabulary_.people) {
          known.push_back(person.id);
          known.insert(known.end(), person.groups.begin(), person.groups.end());
        }
        unknown(where, "group or person", text, known, "add it to `people` of the config");
      }
      out.by.push_back(text);
    }
    std::ranges::sort(out.by);
    out.by.erase(std::ranges::unique(out.by).begin(), out.by.end());
  }
  if (const auto expires = duration(value.find("expires"), "`expires`")) out.expires = *expires;
  if (const auto quorum = count(value.find("quorum"), "`quorum`"))
    out.quorum = static_cast<unsigned>(std::min<std::uint64_t>(*quorum, 1000));
  if (const auto flag = boolean(value.find("notOwner"), "`notOwner`")) out.not_owner = *flag;
  if (const auto flag = boolean(value.find("revision"), "`revision`")) out.revision = *flag;
  if (const auto flag = boolean(value.find("grants"), "`grants`")) out.grants = *flag;
  if (const auto flag = boolean(value.find("sessionUser"), "`sessionUser`")) out.session_user = *flag;
  if (out.quorum > 1 && (out.grants || out.session_user)) {
    faults_.error(value, "neither grants nor the session's own user can serve a quorum above one");
  }
  if (faults_.errors() == before) check_quorum(out, value);
  return out;
}

void Reader::read_evidence(Rule& rule, json::Value value) {
  const json::Value source = value.find("evidence");
  if (rule.kind != RuleKind::require) {
    if (source) faults_.error(source, "`evidence` belongs to a `require`");
    return;
  }
  if (!source) {
    faults_.error(value, "a `require` needs `evidence`: the tool that must have run, and what it must have said");
    return;
  }
  if (!object(source, "`evidence`")) return;
  only(source, {"server", "tool", "result"}, "`evidence`");
  Evidence out;
  if (const auto server = text(source.find("server"), "`server`")) {
    out.server = *server;
    if (vocabulary_.server(out.server) == nullptr) {
      std::vector<std::string> known;
      for (const VocabularyServer& each : vocabulary_.servers) known.push_back(each.id);
      unknown(source.find("server"), "server", out.server, known, "add it to the config");
      return;
    }
  } else if (rule.match.servers.size() == 1) {
    out.server = rule.match.servers.front();
  } else {
    faults_.error(source, "say the `server` of the evidence: the rule itself names none, or several");
    return;
  }
  const auto tool = text(source.find("tool"), "`tool`");
  const json::Value result = source.find("result");
  if (!tool || !result) {
    if (!source.find("tool")) faults_.error(source, "`evidence` needs the `tool` that must have run");
    if (!result) faults_.error(source, "`evidence` needs a `result`: a run alone proves nothing, `{}` if any will do");
    return;
  }
  out.tool = *tool;
  const VocabularyServer* server = vocabulary_.server(out.server);
  const VocabularyTool* known_tool = server == nullptr ? nullptr : server->tool(out.tool);
  if (server != nullptr && server->accepted && known_tool == nullptr) {
    std::vector<std::string> known;
    for (const VocabularyTool& each : server->tools) known.push_back(each.name);
    unknown(source.find("tool"), "tool", out.tool, known,
            "server `" + visible(out.server) + "` has no accepted tool of that name");
  }
  auto conditions = ArgumentConditions::compile(result, context(Place::loosening, false));
  if (!conditions) return;
  if (known_tool != nullptr && known_tool->output_schema) {
    const SchemaView schema(known_tool->output_schema);
    for (const auto& entry : conditions->entries()) {
      if (schema.may_name(entry.name)) continue;
      unknown(result, "member of the result", entry.name, schema.names(), "the pinned output schema does not have it");
    }
  }
  out.result = std::move(*conditions);
  out.text = meaning(result);
  rule.evidence = std::move(out);
}

void Reader::read_hook(Rule& rule, json::Value value) {
  const json::Value url = value.find("url");
  const json::Value timeout = value.find("timeout");
  if (rule.kind != RuleKind::hook) {
    if (url) faults_.error(url, "`url` belongs to a `hook`");
    if (timeout) faults_.error(timeout, "`timeout` belongs to a `hook`");
    return;
  }
  if (!url) faults_.error(value, "a `hook` needs the `url` that is asked");
  Hook out;
  if (const auto written = text(url, "`url`")) {
    out.url = *written;
    if (!http_url(out.url)) {
      faults_.error(url, "`url` must be an http or https URL without user and fragment");
    } else if (in_clear(out.url)) {
      faults_.error(url, "plain http is for this machine only (`localhost`, `127.0.0.1`, `[::1]`): use https");
    }
  }
  if (const auto written = duration(timeout, "`timeout`")) {
    out.timeout = *written;
    if (out.timeout > kMaxHookTimeout) faults_.error(timeout, "a hook's `timeout` is 30s at most: a call waits for it");
  }
  rule.hook = std::move(out);
}

// `unless` and `allowIf`. In an allow an exception tightens: what cannot be judged counts as excepted.
void Reader::read_exceptions(Rule& rule, json::Value value) {
  const auto read = [&](json::Value source, Place place, bool closed, std::vector<Match>& out, std::string_view what) {
    if (!source) return;
    const auto add = [&](json::Value item) {
      if (item.is_object() && item.size() == 0) {
        faults_.error(item, std::string(what) + " without a test speaks of everything: name something");
        return;
      }
      auto inner = match(item, place, closed, rule.match.methods);
      if (!inner) return;
      check_inner(*inner, rule.match, item);
      out.push_back(std::move(*inner));
    };
    if (!source.is_array()) {
      add(source);
      return;
    }
    if (source.size() == 0) faults_.error(source, std::string(what) + " is an empty list: take it out");
    for (const json::Value item : source.elements()) add(item);
  };
  const bool allow = rule.kind == RuleKind::allow;
  read(value.find("unless"), allow ? Place::tightening : Place::loosening, !allow, rule.unless, "`unless`");
  const json::Value allow_if = value.find("allowIf");
  if (allow_if && rule.kind != RuleKind::ask) {
    faults_.error(allow_if, "`allowIf` belongs to an `ask`: it says where the question need not be put");
    return;
  }
  read(allow_if, Place::loosening, true, rule.allow_if, "`allowIf`");
}

void Reader::check_kind(Rule& rule, json::Value value, json::Value own) {
  if (rule.kind == RuleKind::allow && rule.match.servers.empty() && rule.match.effects.empty()) {
    faults_.error(own, "an `allow` needs a `server` or an `effect`: it must not open what nobody has looked at");
  }
  if (const json::Value hide = value.find("hide")) {
    rule.hide = boolean(hide, "`hide`").value_or(false);
    const auto conditional = [](const Match& match) { return match.has_conditions(); };
    if (rule.kind != RuleKind::deny) {
      faults_.error(hide, "only a `deny` can hide");
    } else if (rule.hide && (rule.match.has_conditions() || std::ranges::any_of(rule.unless, conditional))) {
      faults_.error(hide,
                    "only a `deny` without conditions on arguments can hide: a list is made before there are any");
    }
  }
}

std::optional<Rule> Reader::rule(json::Value value, const ApprovalTerms& base) {
  if (!object(value, "a rule")) return std::nullopt;
  only(value,
       {"id", "deny", "ask", "allow", "require", "hook", "unless", "allowIf", "message", "hide", "approval", "evidence",
        "url", "timeout"},
       "a rule");
  Rule out;
  out.file = file_;
  out.position = lines_.at(value);
  out.approval = base;
  const auto name = id(value, "a rule");
  if (name) out.id = *name;
  json::Value own;
  for (const RuleKind kind : kKinds) {
    const json::Value found = value.find(to_string(kind));
    if (!found) continue;
    if (own) {
      faults_.error(found, "a rule says one of deny, ask, allow, require and hook: make two rules of it");
      return std::nullopt;
    }
    own = found;
    out.kind = kind;
  }
  if (!own) {
    faults_.error(value, "a rule needs one of deny, ask, allow, require and hook");
    return std::nullopt;
  }
  const bool allow = out.kind == RuleKind::allow;
  auto own_match = match(own, allow ? Place::loosening : Place::tightening, allow);
  if (own_match) {
    out.match = std::move(*own_match);
    check(out.match, own);
  }
  if (const auto message = text(value.find("message"), "`message`")) {
    out.message = *message;
    if (out.message.size() > kMaxMessage) faults_.error(value.find("message"), "a `message` has 2,000 bytes at most");
  }
  if (const json::Value terms = value.find("approval")) {
    if (out.kind != RuleKind::ask && out.kind != RuleKind::hook) {
      faults_.error(terms, "`approval` belongs to an `ask` or a `hook`");
    } else if (const auto read = approval(terms, base)) {
      out.approval = *read;
    }
  }
  read_exceptions(out, value);
  read_evidence(out, value);
  read_hook(out, value);
  check_kind(out, value, own);
  out.text = meaning(value);
  if (!own_match || !name) return std::nullopt;
  return out;
}

}  // namespace sallyport::policy
