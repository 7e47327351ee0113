#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace dlscale {

/// Seconds since 1970, UTC, as "2026-01-31T12:00:00Z". Requires a time from 1970 to 9999.
std::string time_text(std::int64_t seconds);
/// The present, likewise.
std::string utc_now();

/// The inverse of time_text(); also takes days ("2026-01-31", the first second), zone offsets, and
/// what `git log` and `date` print with a zone. Throws ConfigError that begins with `what` and says
/// why for anything else, including the 30th of February and times before 1970 or after 9999.
std::int64_t parse_time(std::string_view text, std::string_view what);

/// Accepts the same, and a duration before `now` (s since 1970): "10 days", "2 weeks", "3 months",
/// "1 year", singular or plural, with or without a blank. Months and years follow the calendar in
/// UTC; a day that the month lacks becomes its last. The result may lie before 1970.
std::int64_t parse_since(std::string_view text, std::string_view what, std::int64_t now);

/// Reads only the inverse of time_text(), days and zone offsets, and quickly; false for all else.
bool read_time(std::string_view text, std::int64_t& seconds);

}  // namespace dlscale
