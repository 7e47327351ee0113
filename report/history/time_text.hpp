#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace dlscale::report::history {

/// "2026-01-31T12:00:00Z" of seconds since 1970, UTC. Requires a time from 1970 to 9999.
std::string time_text(std::int64_t seconds);

/// The inverse; also "2026-01-31" (its first second) and offsets of a zone, "…+01:00". Throws
/// ConfigError, beginning with `what`, for anything else: the 30th of February, and
/// times before 1970 and after 9999.
std::int64_t parse_time(std::string_view text, std::string_view what);

/// The same without words: false if it is no such time.
bool read_time(std::string_view text, std::int64_t& seconds);

}  // namespace dlscale::report::history
