#include "trust/servers/doubts.hpp"

namespace sallyport::trust {

std::vector<std::string> doubts(const Contract& contract, const EffectView& view) {
  std::vector<std::string> out;
  const Hints& declared = view.declared;
  const bool reads = view.effective.category == EffectCategory::read;
  if (contract.terms.category == EffectCategory::read) {
    if (declared.destructive == true) {
      out.emplace_back("the contract says that it only reads, and the server declares it destructive");
    } else if (declared.read_only == false) {
      out.emplace_back("the contract says that it only reads, and the server declares that it does not");
    }
  } else if (declared.destructive == true && !view.effective.destructive) {
    out.emplace_back("the contract says that it is not destructive, and the server declares that it is");
  }
  if (view.effective.repeat == Repeat::safe && !reads) {
    if (declared.idempotent == false)
      out.emplace_back("the contract says that repeating is safe, and the server declares it not idempotent");
    if (view.effective.destructive && !contract.terms.destructive)  // said outright, the reader warns already
      out.emplace_back("it is destructive and repeating it is said to be safe: a lost answer is sent again");
  }
  return out;
}

}  // namespace sallyport::trust
