// Approval terms as they stand in stored approvals and in what is bound: one form for both. Internal to approvals.
#pragma once

#include "schemas/core/writer.hpp"
#include "schemas/model/decision.hpp"

namespace sallyport::trust {

inline void write_terms(json::Writer& out, const ApprovalTerms& terms) {
  out.begin_object();
  out.list("by", terms.by);
  out.member("expires", static_cast<std::uint64_t>(terms.expires.count()));
  out.member("grants", terms.grants);
  out.member("notOwner", terms.not_owner);
  out.member("quorum", static_cast<std::uint64_t>(terms.quorum));
  out.member("revision", terms.revision);
  out.member("sessionUser", terms.session_user);
  out.end_object();
}

}  // namespace sallyport::trust
