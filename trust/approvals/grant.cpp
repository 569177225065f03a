#include "trust/approvals/grant.hpp"

#include <algorithm>

namespace sallyport::trust {

bool in_force(const Grant& grant, UnixMillis now) { return state_of(grant, now) == "granted"; }

bool covers(const Grant& grant, const GrantUse& use, UnixMillis now) {
  const bool seen = std::ranges::all_of(
      use.meta, [&](const std::string& name) { return std::ranges::find(grant.meta, name) != grant.meta.end(); });
  if (!seen) return false;
  return in_force(grant, now) && now >= grant.created && grant.rule == use.rule && grant.tool == use.tool &&
         grant.identity == use.identity && grant.definition == use.definition && grant.contract == use.contract &&
         grant.principal == use.principal && (grant.run.empty() || grant.run == use.run);
}

std::string_view state_of(const Grant& grant, UnixMillis now) {
  if (grant.revoked != 0) return grant.revoked_by.empty() ? "void" : "revoked";
  if (now >= grant.expires) return "expired";
  return grant.most != 0 && grant.used >= grant.most ? "spent" : "granted";
}

}  // namespace sallyport::trust
