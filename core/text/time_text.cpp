#include "core/text/time_text.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <ctime>
#include <optional>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

constexpr std::int64_t seconds_of_day = 86400;
/// The first second of the year 10000.
constexpr std::int64_t end_of_times = 253'402'300'800;

/// Parses `count` leading digits and removes them.
bool take_number(std::string_view& text, std::size_t count, int& value) {
  if (text.size() < count) return false;
  value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (text[i] < '0' || text[i] > '9') return false;
    value = 10 * value + (text[i] - '0');
  }
  text.remove_prefix(count);
  return true;
}

bool take(std::string_view& text, char letter) {
  if (text.empty() || text.front() != letter) return false;
  text.remove_prefix(1);
  return true;
}

bool take_date(std::string_view& text, std::int64_t& seconds) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!take_number(text, 4, year) || !take(text, '-') || !take_number(text, 2, month) ||
      !take(text, '-') || !take_number(text, 2, day)) {
    return false;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return false;
  seconds = seconds_of_day * std::chrono::sys_days(date).time_since_epoch().count();
  return true;
}

bool take_clock(std::string_view& text, std::int64_t& seconds) {
  int hours = 0;
  int minutes = 0;
  int rest = 0;
  if (!take_number(text, 2, hours) || !take(text, ':') || !take_number(text, 2, minutes) ||
      !take(text, ':') || !take_number(text, 2, rest)) {
    return false;
  }
  if (hours > 23 || minutes > 59 || rest > 60) return false;
  seconds += 3600 * hours + 60 * minutes + rest;
  return true;
}

/// Parses "Z" or "+01:00".
bool take_zone(std::string_view& text, std::int64_t& seconds) {
  if (take(text, 'Z')) return true;
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) return false;
  int hours = 0;
  int minutes = 0;
  if (!take_number(text, 2, hours) || !take(text, ':') || !take_number(text, 2, minutes)) {
    return false;
  }
  if (hours > 23 || minutes > 59) return false;
  seconds += (east ? -1 : 1) * (3600 * hours + 60 * minutes);
  return true;
}

/// A duration in days or months.
struct TimeSpan {
  int days = 0;
  int months = 0;
};

/// Duration of one day, week, month or year; 0 of both for any other word.
TimeSpan span_of(std::string_view unit) {
  if (unit.ends_with('s')) unit.remove_suffix(1);
  if (unit == "day") return {.days = 1, .months = 0};
  if (unit == "week") return {.days = 7, .months = 0};
  if (unit == "month") return {.days = 0, .months = 1};
  if (unit == "year") return {.days = 0, .months = 12};
  return {};
}

/// Parses "2 weeks"; empty for any other text.
std::optional<TimeSpan> read_span(std::string_view text) {
  constexpr std::size_t most_digits = 4;
  std::size_t digits = 0;
  while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
  int count = 0;
  if (digits == 0 || digits > most_digits || !take_number(text, digits, count)) return std::nullopt;
  take(text, ' ');
  const TimeSpan unit = span_of(text);
  if (unit.days == 0 && unit.months == 0) return std::nullopt;
  return TimeSpan{count * unit.days, count * unit.months};
}

std::int64_t before(std::int64_t now, const TimeSpan& span) {
  const std::chrono::sys_seconds time{std::chrono::seconds(now)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  std::chrono::year_month_day date(day);
  date -= std::chrono::months(span.months);
  if (!date.ok()) date = date.year() / date.month() / std::chrono::last;
  const std::chrono::sys_seconds found =
      std::chrono::sys_days(date) - std::chrono::days(span.days) + (time - day);
  return found.time_since_epoch().count();
}

}  // namespace

std::string time_text(std::int64_t seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string utc_now() {
  return time_text(std::time(nullptr));
}

bool read_time(std::string_view text, std::int64_t& seconds) {
  if (!take_date(text, seconds)) return false;
  const bool is_day = text.empty();
  if (!is_day && !(take(text, 'T') && take_clock(text, seconds) && take_zone(text, seconds))) {
    return false;
  }
  return text.empty() && seconds >= 0 && seconds < end_of_times;
}

std::int64_t parse_time(std::string_view text, std::string_view what) {
  std::int64_t seconds = 0;
  if (read_time(text, seconds)) return seconds;
  throw ConfigError(
      fmt::format("{} is \"{}\", which is not a time. Write it as 2026-01-31T12:00:00Z, in UTC or "
                  "with its zone (+01:00), or 2026-01-31.",
                  what, escape_for_terminal(text)));
}

std::int64_t parse_since(std::string_view text, std::string_view what, std::int64_t now) {
  std::int64_t seconds = 0;
  if (read_time(text, seconds)) return seconds;
  if (const std::optional<TimeSpan> span = read_span(text)) return before(now, *span);
  throw ConfigError(fmt::format(
      "{} is \"{}\", which is neither a time nor so long ago. Write it as 2026-01-31, "
      "2026-01-31T12:00:00Z or 2026-01-31T12:00:00+01:00, or as up to 9999 days, weeks, months or "
      "years, such as \"10 days\", \"2 weeks\", \"3 months\" or \"1 year\".",
      what, escape_for_terminal(text)));
}

}  // namespace dlscale
