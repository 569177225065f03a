#include "trust/approvals/grant.hpp"

namespace sallyport::trust {

bool in_force(const Grant& grant, UnixMillis now) {
  return grant.revoked == 0 && now >= grant.created && now < grant.expires;
}

bool covers(const Grant& grant, const GrantUse& use, UnixMillis now) {
  return in_force(grant, now) && grant.rule == use.rule && grant.tool == use.tool &&
         grant.definition == use.definition && grant.principal == use.principal &&
         (grant.run.empty() || grant.run == use.run);
}

}  // namespace sallyport::trust
