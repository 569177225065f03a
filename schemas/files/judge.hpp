// judge: our own documents against schemas/files/*.schema.json (design section 13), by valijson. Tool schemas never
// come here: they are foreign, and judged by schemas/validate.
//
// Every fault is reported at once, with line, column, pointer and a remedy. The schemas say form: members and types;
// what needs more than form is said by whoever reads the document (gateway/config, trust/servers, policy/rules).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "schemas/core/fault.hpp"
#include "schemas/core/json.hpp"

namespace sallyport::schema {

enum class FileKind : std::uint8_t { settings, trust, policy, lock, receipt };

[[nodiscard]] std::string_view schema_name(FileKind kind);  // `trust.schema.json`, a name of embedded_file()

// A compiled schema, for many documents of a kind (receipts). For one thread at a time: valijson is not thread-safe.
class Judge {
 public:
  explicit Judge(FileKind kind);
  ~Judge();
  Judge(Judge&&) noexcept;
  Judge& operator=(Judge&&) noexcept;

  // `file`: its name in the faults. Duplicate members and unsafe numbers are faults too; look-alike names are not, as
  // `http_proxy` and `HTTP_PROXY` are both honest where names are free.
  [[nodiscard]] Faults judge(const json::Document& document, const std::string& file) const;

 private:
  struct Compiled;
  std::unique_ptr<Compiled> compiled_;
};

// The same for one document.
[[nodiscard]] Faults judge(FileKind kind, const json::Document& document, const std::string& file);

}  // namespace sallyport::schema
