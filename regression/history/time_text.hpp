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

/// The same, or so long before `now` (s since 1970): "10 days", "2 weeks", "3 months", "1 year", in
/// singular or plural, with a blank or without. Months and years are those of the calendar, in
/// UTC; where a month has no such day, its last one. May lie before 1970.
std::int64_t parse_since(std::string_view text, std::string_view what, std::int64_t now);

/// parse_time() without words: false if it is no such time.
bool read_time(std::string_view text, std::int64_t& seconds);

}  // namespace dlscale::report::history
