// From what a server says of a tool (or a prompt, a resource template, itself), what was accepted and what the operator
// wrote, to the Tool in force. Pure but for the schema cache, which only saves work.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/ports/snapshot.hpp"
#include "trust/definitions/lock_file.hpp"
#include "trust/servers/text_scan.hpp"
#include "trust/servers/trust_file.hpp"

namespace sallyport::gateway::catalogue {

// Compiled schemas by definition digest and what is made of `format`: a rebuild does not compile what did not change.
class SchemaCache {
 public:
  struct Compiled {
    std::shared_ptr<const schema::Schema> input, output;
    std::string input_problem;   // quarantines
    std::string output_problem;  // results go unjudged, and say so
    std::vector<std::string> write_only;
  };
  std::shared_ptr<const Compiled> get(const std::string& digest, json::Value definition, bool assert_formats);
  void keep_only_used();  // drops what no Tool holds any more

 private:
  std::unordered_map<std::string, std::shared_ptr<const Compiled>> compiled_;
};

using Names = std::multimap<std::string, trust::TextFinding, std::less<>>;  // what scan_names found, by tool

struct BuildContext {
  const std::string& server;
  bool identity_ok;
  const std::string& foreign;  // not empty: the server is not the accepted one, and nothing of it is used
  std::shared_ptr<const trust::TrustFile> trust;
  std::shared_ptr<const trust::LockFile> lock;
  SchemaCache& schemas;
  const Names& names;
};

// `definition`: an element of one of the server's lists, or its instructions; `mentions`: what of other servers' tools
// it names. Null: it has no name.
[[nodiscard]] std::shared_ptr<const Tool> build_offer(const BuildContext& context, trust::Offer offer,
                                                      json::Value definition,
                                                      const std::vector<trust::TextFinding>& mentions);

}  // namespace sallyport::gateway::catalogue
