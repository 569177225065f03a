// Schema: a JSON Schema compiled once, judging values many times (design section 13, promises 1, 8 to 11).
//
// Schemas are foreign and hostile. compile() refuses what it cannot judge by the whole of its dialect, and its message
// names the place and the reason; it never fetches: references resolve inside the document, to the bundled meta-schemas
// and to the externals handed in. A compiled Schema keeps its own copy of the text, never changes, and may be used from
// several threads. Evaluation counts its steps and its depth; at a bound the value is refused, never let through.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/core/json.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::schema {

struct Program;

enum class Dialect : std::uint8_t { draft4, draft6, draft7, draft2019_09, draft2020_12 };
[[nodiscard]] std::string_view to_string(Dialect dialect);  // "2020-12", "draft-07", …

// One more document that references may name. Used while compiling only; what is needed of it is copied.
struct External {
  std::string_view uri;  // absolute, without fragment
  json::Value schema;
};

struct CompileOptions {
  Dialect default_dialect = Dialect::draft2020_12;  // where the schema names none in `$schema`
  bool assert_formats = false;                      // `format` refuses; otherwise it is an annotation
  bool refuse_lookalikes = true;  // member names that differ from a declared one only by case, width or normalisation

  std::size_t bytes = 1U << 20;            // of schema text
  std::uint32_t depth = 100;               // of nested arrays and objects in it
  std::size_t subschemas = 20'000;         // with what it refers to
  std::size_t pattern_bytes = 4'096;       // of one pattern
  std::size_t patterns_memory = 4U << 20;  // of all compiled patterns together
  std::uint64_t steps = 2'000'000;         // of one validation; about 10 ns each
  std::span<const External> externals;
};

// One thing wrong with an instance.
struct SchemaFault {
  std::string instance;  // RFC 6901 pointer into the instance, by nearest_place()
  std::string keyword;   // "required", …; "lookalike" for promise 10
  std::string schema;    // pointer to the keyword in the schema; with its URI in front if it stands in another document
  std::string message;   // one sentence: what was expected, what came (cut to about 80 characters), what to do
};

struct Verdict {
  bool valid = false;
  bool limit_reached = false;  // steps, depth or a pattern's bound: refused without a judgement; a fault says which
  std::vector<SchemaFault> faults;  // every fault, the first 20
  std::uint64_t steps = 0;
};

// The pointer itself or, where that takes more than 1,024 bytes (a member's name may be as long as the message), the
// one to the nearest place around it that does not.
[[nodiscard]] std::string nearest_place(std::string_view pointer);

// What a schema says of one place in its instances, as far as it says so for every instance: through `properties`,
// `patternProperties`, `additionalProperties`, `items`, `prefixItems`, `$ref` and `allOf`.
struct Property {
  enum class Standing : std::uint8_t {
    declared,    // at least one subschema governs it
    unknown,     // nothing speaks of it, or only a branch that need not apply
    impossible,  // no valid instance has it (`additionalProperties: false`, a `false` schema, no object there)
  };
  Standing standing = Standing::unknown;
  bool required = false;             // present in every valid instance
  std::vector<json::Value> schemas;  // the subschemas that always apply, nearest first; live as long as the Schema
  // The value of a keyword ("type", "enum", "default", "minimum", …) in the first of them that has it, or absent.
  [[nodiscard]] json::Value keyword(std::string_view name) const;
};

class Schema {
 public:
  // Errors: invalid (a broken keyword or reference), unsupported (dialect, vocabulary), limit (a bound of the options).
  // The message is the reason for a quarantine: `at /properties/a/type: …`.
  static Result<Schema> compile(json::Value schema, const CompileOptions& options = {});

  // Judges an instance. `redact`: pointers into the instance whose values (and what is under them) are never shown.
  [[nodiscard]] Verdict validate(json::Value instance, std::span<const std::string> redact = {}) const;
  // The same judgement without the faults.
  [[nodiscard]] bool valid(json::Value instance) const;

  // What the schema says of the place `pointer` (RFC 6901) of every instance. A bad pointer is unknown.
  [[nodiscard]] Property property(std::string_view pointer) const;

  [[nodiscard]] Dialect dialect() const;
  [[nodiscard]] std::size_t memory() const;              // bytes held, text and patterns included
  [[nodiscard]] const json::Document& document() const;  // the schema's own copy

 private:
  explicit Schema(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const Program> program_;
};

}  // namespace sallyport::schema
