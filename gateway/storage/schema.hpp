// The tables, as numbered migrations: migration n brings a file of version n to version n + 1, in one transaction.
// They are never edited once released; a change is a new one.
#pragma once

#include "gateway/storage/database.hpp"
#include "schemas/core/result.hpp"

namespace sallyport::gateway {

inline constexpr std::int64_t kSchemaVersion = 3;

// Creates or migrates. Refuses a file that is not ours or that a newer version made. Throws DatabaseError.
Status migrate(Database& database);
// For readers: the same refusals, without writing.
Status check_schema(Database& database);

}  // namespace sallyport::gateway
