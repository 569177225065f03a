// PermittedCall: the proof that a call was decided and recorded (design section 13). Only step 10
// (gateway/calls/record.cpp) can make one, from the commit that recorded it; ServerLink::call takes nothing else.
#pragma once

#include <memory>
#include <string>

#include "schemas/core/json.hpp"
#include "schemas/model/effect.hpp"
#include "schemas/model/principal.hpp"

namespace sallyport::gateway {

class PermittedCall {
 public:
  PermittedCall(PermittedCall&&) noexcept = default;
  PermittedCall& operator=(PermittedCall&&) noexcept = default;
  PermittedCall(const PermittedCall&) = delete;
  PermittedCall& operator=(const PermittedCall&) = delete;

  [[nodiscard]] Method method() const { return method_; }
  [[nodiscard]] const ToolRef& tool() const { return tool_; }  // or prompt; no name for resources
  [[nodiscard]] const std::string& operation() const { return operation_; }
  [[nodiscard]] int attempt() const { return attempt_; }
  // params of the method, complete but for `_meta`: `"name":…,"arguments":…` with the client's bytes, no braces.
  [[nodiscard]] const std::string& params_members() const { return params_members_; }
  // Members of `_meta` to forward, raw, without braces and without progressToken; may be empty.
  [[nodiscard]] const std::string& meta_members() const { return meta_members_; }
  [[nodiscard]] const std::string& idempotency_header() const { return idempotency_header_; }  // empty: none
  [[nodiscard]] bool wants_progress() const { return wants_progress_; }

 private:
  friend class Permit;  // defined in gateway/calls/record.cpp alone
  PermittedCall() = default;
  Method method_ = Method::tools_call;
  ToolRef tool_;
  std::string operation_;
  int attempt_ = 1;
  std::string params_members_;
  std::string meta_members_;
  std::string idempotency_header_;
  bool wants_progress_ = false;
};

}  // namespace sallyport::gateway
