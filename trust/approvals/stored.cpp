#include "trust/approvals/stored.hpp"

#include <fmt/format.h>

#include "schemas/core/json.hpp"
#include "schemas/core/writer.hpp"
#include "trust/approvals/terms.hpp"

namespace sallyport::trust {
namespace {

void write_time(json::Writer& out, std::string_view name, UnixMillis time) {
  if (time > 0) out.member(name, static_cast<std::uint64_t>(time));
}

void write_vote(json::Writer& out, const Vote& vote) {
  out.begin_object();
  out.member("approve", vote.approve);
  out.key("asks").begin_array();
  for (const auto ask : vote.asks) out.value(static_cast<std::uint64_t>(ask));
  out.end_array();
  write_time(out, "at", vote.at);
  out.member("by", vote.by);
  out.text("reason", vote.reason);
  out.member("seen", vote.seen);
  out.end_object();
}

// Reads members one by one and remembers whether all fitted.
class Reader {
 public:
  explicit Reader(json::Value value) : value_(value), ok_(value.is_object()) {}

  std::string text(std::string_view name) {
    const auto item = value_.find(name);
    if (!item) return {};
    ok_ = ok_ && item.is_string();
    return item.is_string() ? item.string() : std::string();
  }
  std::int64_t number(std::string_view name) {
    const auto item = value_.find(name);
    if (!item) return 0;
    const auto number = item.is_number() ? item.integer() : std::nullopt;
    ok_ = ok_ && number && *number >= 0;
    return number.value_or(0);
  }
  bool flag(std::string_view name) {
    const auto item = value_.find(name);
    ok_ = ok_ && item.is_bool();
    return item.is_bool() && item.boolean();
  }
  json::Value list(std::string_view name) {
    const auto item = value_.find(name);
    ok_ = ok_ && (!item || item.is_array());
    return item;
  }
  void require(bool condition) { ok_ = ok_ && condition; }
  [[nodiscard]] bool ok() const { return ok_; }

 private:
  json::Value value_;
  bool ok_;
};

ApprovalTerms read_terms(json::Value value, bool& ok) {
  Reader in(value);
  ApprovalTerms out;
  for (const auto item : in.list("by").elements()) {
    in.require(item.is_string());
    out.by.push_back(item.string());
  }
  out.expires = Millis(in.number("expires"));
  out.grants = in.flag("grants");
  out.not_owner = in.flag("notOwner");
  const auto quorum = in.number("quorum");
  in.require(quorum >= 1 && quorum <= INT32_MAX);
  out.quorum = static_cast<unsigned>(quorum);
  out.revision = in.flag("revision");
  out.session_user = in.flag("sessionUser");
  ok = ok && in.ok();
  return out;
}

Vote read_vote(json::Value value, std::size_t asks, bool& ok) {
  Reader in(value);
  Vote out;
  out.approve = in.flag("approve");
  for (const auto item : in.list("asks").elements()) {
    const auto index = item.is_number() ? item.integer() : std::nullopt;
    in.require(index && *index >= 0 && static_cast<std::size_t>(*index) < asks);
    out.asks.push_back(static_cast<std::size_t>(index.value_or(0)));
  }
  out.at = in.number("at");
  out.by = in.text("by");
  out.reason = in.text("reason");
  out.seen = in.text("seen");
  ok = ok && in.ok();
  return out;
}

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(ErrorCode::corrupt, fmt::format("a stored {} is not what was written", what));
}

}  // namespace

std::string print(const Approval& approval) {
  json::Writer out(1024);
  out.begin_object();
  out.key("asks").begin_array();
  for (const auto& terms : approval.asks) write_terms(out, terms);
  out.end_array();
  out.member("binding", approval.binding);
  write_time(out, "created", approval.created);
  write_time(out, "ended", approval.ended);
  out.text("endedBy", approval.ended_by);
  write_time(out, "expires", approval.expires);
  out.member("id", approval.id);
  out.member("operation", approval.operation);
  out.text("owner", approval.requester_owner);
  out.text("reason", approval.reason);
  out.member("requester", approval.requester);
  out.member("shown", approval.shown);
  out.member("state", to_string(approval.state));
  out.key("votes").begin_array();
  for (const auto& vote : approval.votes) write_vote(out, vote);
  return out.end_array().end_object().take();
}

Result<Approval> parse_approval(std::string_view text) {
  const auto document = json::Document::parse(std::string(text));
  if (!document || document->root().ambiguity()) return corrupt("approval");
  Reader in(document->root());
  Approval out;
  bool ok = true;
  for (const auto item : in.list("asks").elements()) out.asks.push_back(read_terms(item, ok));
  out.binding = in.text("binding");
  out.created = in.number("created");
  out.ended = in.number("ended");
  out.ended_by = in.text("endedBy");
  out.expires = in.number("expires");
  out.id = in.text("id");
  out.operation = in.text("operation");
  out.requester_owner = in.text("owner");
  out.reason = in.text("reason");
  out.requester = in.text("requester");
  out.shown = in.text("shown");
  const auto state = parse_approval_state(in.text("state"));
  for (const auto item : in.list("votes").elements()) out.votes.push_back(read_vote(item, out.asks.size(), ok));
  if (!in.ok() || !ok || !state || out.asks.empty() || out.id.empty()) return corrupt("approval");
  out.state = *state;
  return out;
}

std::string print(const Grant& grant) {
  json::Writer out;
  out.begin_object();
  out.text("approval", grant.approval);
  out.member("by", grant.by);
  out.member("conditions", grant.conditions);
  out.text("contract", grant.contract);
  write_time(out, "created", grant.created);
  out.text("definition", grant.definition);
  write_time(out, "expires", grant.expires);
  out.member("id", grant.id);
  out.text("identity", grant.identity);
  if (!grant.meta.empty()) out.list("meta", grant.meta);
  if (grant.most > 0) out.member("most", grant.most);
  out.member("principal", grant.principal);
  out.text("reason", grant.reason);
  write_time(out, "revoked", grant.revoked);
  out.text("revokedBy", grant.revoked_by);
  out.member("rule", grant.rule);
  out.text("run", grant.run);
  out.member("server", grant.tool.server);
  out.text("shown", grant.shown);
  out.member("tool", grant.tool.tool);
  if (grant.used > 0) out.member("used", grant.used);
  return out.end_object().take();
}

Result<Grant> parse_grant(std::string_view text) {
  const auto document = json::Document::parse(std::string(text));
  if (!document || document->root().ambiguity()) return corrupt("grant");
  Reader in(document->root());
  Grant out;
  out.approval = in.text("approval");
  out.by = in.text("by");
  out.conditions = in.text("conditions");
  out.contract = in.text("contract");
  out.created = in.number("created");
  out.definition = in.text("definition");
  out.expires = in.number("expires");
  out.id = in.text("id");
  out.identity = in.text("identity");
  for (const auto item : in.list("meta").elements()) {
    in.require(item.is_string());
    out.meta.push_back(item.string());
  }
  out.most = static_cast<std::uint64_t>(in.number("most"));
  out.principal = in.text("principal");
  out.reason = in.text("reason");
  out.revoked = in.number("revoked");
  out.revoked_by = in.text("revokedBy");
  out.rule = in.text("rule");
  out.run = in.text("run");
  out.shown = in.text("shown");
  out.tool = {in.text("server"), in.text("tool")};
  out.used = static_cast<std::uint64_t>(in.number("used"));
  if (!in.ok() || out.id.empty() || out.rule.empty()) return corrupt("grant");
  return out;
}

}  // namespace sallyport::trust
