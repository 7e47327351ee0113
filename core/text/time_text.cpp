#include "core/text/time_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <optional>
#include <string>

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

/// Parses "12:00:00" or "12:00".
bool take_clock(std::string_view& text, std::int64_t& seconds) {
  int hours = 0;
  int minutes = 0;
  int rest = 0;
  if (!take_number(text, 2, hours) || !take(text, ':') || !take_number(text, 2, minutes)) {
    return false;
  }
  if (take(text, ':') && !take_number(text, 2, rest)) return false;
  if (hours > 23 || minutes > 59 || rest > 59) return false;
  seconds += 3600 * hours + 60 * minutes + rest;
  return true;
}

/// Parses "Z", "+01:00", "+0100" or "+01".
bool take_zone(std::string_view& text, std::int64_t& seconds) {
  if (take(text, 'Z') || take(text, 'z')) return true;
  const bool east = take(text, '+');
  if (!east && !take(text, '-')) return false;
  int hours = 0;
  int minutes = 0;
  if (!take_number(text, 2, hours)) return false;
  const bool has_colon = take(text, ':');
  if ((has_colon || !text.empty()) && !take_number(text, 2, minutes)) return false;
  if (hours > 23 || minutes > 59) return false;
  seconds += (east ? -1 : 1) * (3600 * hours + 60 * minutes);
  return true;
}

/// Zones by name that mean one offset everywhere, in hours. CST and IST do not.
struct NamedZone {
  std::string_view name;
  int hours;
};
constexpr std::array named_zones{
    NamedZone{"UTC", 0},  NamedZone{"GMT", 0},  NamedZone{"UT", 0},   NamedZone{"Z", 0},
    NamedZone{"WET", 0},  NamedZone{"WEST", 1}, NamedZone{"CET", 1},  NamedZone{"CEST", 2},
    NamedZone{"EET", 2},  NamedZone{"EEST", 3}, NamedZone{"JST", 9},  NamedZone{"KST", 9},
    NamedZone{"EST", -5}, NamedZone{"EDT", -4}, NamedZone{"CDT", -5}, NamedZone{"MST", -7},
    NamedZone{"MDT", -6}, NamedZone{"PST", -8}, NamedZone{"PDT", -7}};

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> weekdays{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

/// A time as git and `date` write it, in words that come in any order: "Sat Jan 31 12:00:00 2026
/// +0100", "Sat, 31 Jan 2026 12:00:00 +0100", "2026-01-31 12:00:00 +0100", "Sat Jan 31 12:00:00 PM
/// UTC 2026", "@1769857200 +0100".
class WordedTime {
 public:
  /// Why the text is not a time; empty if it is one.
  std::string read(std::string_view text);
  [[nodiscard]] std::int64_t seconds() const { return seconds_ + offset_; }

 private:
  bool read_word(std::string_view word);
  bool read_unix(std::string_view word);
  bool read_clock(std::string_view word);
  bool read_number(std::string_view word);
  bool read_name(std::string_view word);
  std::string finish();

  std::int64_t seconds_ = 0;
  std::int64_t offset_ = 0;
  int year_ = 0;
  int month_ = 0;
  int day_ = 0;
  int half_ = 0;  ///< 1 after AM, 2 after PM
  bool has_date_ = false;
  bool has_clock_ = false;
  bool has_zone_ = false;
  bool is_unix_ = false;
  std::int64_t clock_ = 0;
};

/// Capitals as those of "CET".
bool is_zone_name(std::string_view word) {
  const bool capitals = std::ranges::all_of(word, [](char c) { return c >= 'A' && c <= 'Z'; });
  return capitals && word.size() >= 3 && word.size() <= 5;
}

bool all_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "@1690000000", or the number alone if no year and no day can be meant.
bool WordedTime::read_unix(std::string_view word) {
  constexpr std::size_t least_digits = 9;
  constexpr std::size_t most_digits = 12;
  const bool is_marked = take(word, '@');
  if (has_date_ || !all_digits(word) || word.size() > most_digits) return false;
  if (!is_marked && word.size() < least_digits) return false;
  for (const char digit : word) seconds_ = 10 * seconds_ + (digit - '0');
  is_unix_ = has_date_ = has_clock_ = true;
  return true;
}

/// "12:00:00", with a fraction, which is dropped, and a zone behind it.
bool WordedTime::read_clock(std::string_view word) {
  if (has_clock_ || word.size() < 5) return false;
  if (word[1] == ':') return false;
  if (!take_clock(word, clock_)) return false;
  has_clock_ = true;
  if (take(word, '.') || take(word, ',')) {
    const std::size_t digits = std::min(word.find_first_not_of("0123456789"), word.size());
    if (digits == 0) return false;
    word.remove_prefix(digits);
  }
  if (word.empty()) return true;
  has_zone_ = take_zone(word, offset_);
  return has_zone_ && word.empty();
}

/// A day or a year.
bool WordedTime::read_number(std::string_view word) {
  int& part = word.size() == 4 ? year_ : day_;
  if (part != 0 || (word.size() != 4 && word.size() > 2)) return false;
  return take_number(word, word.size(), part);
}

/// A month, a weekday, half of a day or a zone.
bool WordedTime::read_name(std::string_view word) {
  if (const auto found = std::ranges::find(months, word); found != months.end() && month_ == 0) {
    month_ = static_cast<int>(found - months.begin()) + 1;
    return true;
  }
  if (std::ranges::find(weekdays, word) != weekdays.end()) return true;
  if ((word == "AM" || word == "PM") && half_ == 0) {
    half_ = word == "AM" ? 1 : 2;
    return true;
  }
  const auto zone = std::ranges::find(named_zones, word, &NamedZone::name);
  if (zone == named_zones.end() || has_zone_) return false;
  offset_ = -3600 * zone->hours;
  return has_zone_ = true;
}

bool WordedTime::read_word(std::string_view word) {
  if (word.starts_with('@') || (all_digits(word) && word.size() > 4)) return read_unix(word);
  if (word.starts_with('+') || (word.starts_with('-') && has_clock_)) {
    if (has_zone_) return false;
    has_zone_ = take_zone(word, offset_);
    return has_zone_ && word.empty();
  }
  if (all_digits(word)) return read_number(word);
  if (word.size() > 4 && word[4] == '-') {
    if (has_date_ || !take_date(word, seconds_)) return false;
    has_date_ = true;
    return word.empty() || ((take(word, 'T') || take(word, 't')) && read_clock(word));
  }
  return word.find(':') != std::string_view::npos ? read_clock(word) : read_name(word);
}

std::string WordedTime::finish() {
  if (!has_date_ && year_ != 0 && month_ != 0 && day_ != 0) {
    const std::chrono::year_month_day date{std::chrono::year(year_),
                                           std::chrono::month(static_cast<unsigned>(month_)),
                                           std::chrono::day(static_cast<unsigned>(day_))};
    if (!date.ok()) return "is not a day of the calendar";
    seconds_ = seconds_of_day * std::chrono::sys_days(date).time_since_epoch().count();
    has_date_ = true;
  }
  if (!has_date_) return "has no date";
  if (!has_clock_) return "has no time of day";
  if (half_ != 0) {
    const std::int64_t hour = clock_ / 3600;
    if (hour < 1 || hour > 12) return "is not a time of half a day";
    clock_ += 3600 * (hour == 12 ? (half_ == 1 ? -12 : 0) : (half_ == 2 ? 12 : 0));
  }
  if (!is_unix_ && !has_zone_) return "has no time zone, so that it may be any time of a day";
  if (is_unix_) offset_ = 0;  // seconds since 1970 are those of UTC
  seconds_ += clock_;
  const bool is_within = seconds() >= 0 && seconds() < end_of_times;
  return is_within ? "" : "is not a time from 1970 to 9999";
}

std::string WordedTime::read(std::string_view text) {
  for (const std::string_view label : {"Date:", "AuthorDate:", "CommitDate:"}) {
    if (text.starts_with(label)) text.remove_prefix(label.size());
  }
  bool any = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (word.ends_with(',')) word.remove_suffix(1);
    if (is_zone_name(word) && !read_name(word)) {
      return fmt::format("names the zone {}, which is not one offset everywhere", word);
    }
    if (!is_zone_name(word) && !read_word(word)) return "is not a time";
    any = true;
  }
  return any ? finish() : "is not a time";
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
  if (!take(text, ' ')) take(text, '.');
  if (text.ends_with(" ago") || text.ends_with(".ago")) text.remove_suffix(4);
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
  if (!is_day && !((take(text, 'T') || take(text, 't')) && take_clock(text, seconds) &&
                   take_zone(text, seconds))) {
    return false;
  }
  return text.empty() && seconds >= 0 && seconds < end_of_times;
}

namespace {

/// "20260131T120000Z" as "2026-01-31T12:00:00Z"; empty for any other text.
std::string extended_form(std::string_view text) {
  constexpr std::size_t date = 8;
  constexpr std::size_t clock = 6;
  if (text.size() < date + 1 + clock || (text[date] != 'T' && text[date] != 't')) return "";
  const std::string_view hours = text.substr(date + 1, clock);
  if (!all_digits(text.substr(0, date)) || !all_digits(hours)) return "";
  return fmt::format("{}-{}-{}T{}:{}:{}{}", text.substr(0, 4), text.substr(4, 2), text.substr(6, 2),
                     hours.substr(0, 2), hours.substr(2, 2), hours.substr(4, 2),
                     text.substr(date + 1 + clock));
}

/// Why a text looks like a time without being one; empty if it does not.
std::string likeness(std::string_view text) {
  struct Unit {
    std::size_t digits;
    std::string_view name;
  };
  constexpr std::size_t seconds_digits = 10;
  constexpr std::array units{Unit{13, "milliseconds"}, Unit{16, "microseconds"},
                             Unit{19, "nanoseconds"}};
  if (text.starts_with('@')) text.remove_prefix(1);
  for (const Unit& unit : units) {
    if (!all_digits(text) || text.size() != unit.digits) continue;
    return fmt::format("has as many digits as {} since 1970 (in seconds {})", unit.name,
                       text.substr(0, seconds_digits));
  }
  return text.find(":60") == std::string_view::npos ? "" : "has a 60 where at most 59 can be";
}

/// The time in any form; nothing and a reason if it is none.
std::optional<std::int64_t> find_time(std::string_view text, std::string& why) {
  std::int64_t seconds = 0;
  if (read_time(text, seconds)) return seconds;
  const std::string extended = extended_form(text);
  if (read_time(extended, seconds)) return seconds;
  if (why = likeness(extended.empty() ? text : extended); !why.empty()) return std::nullopt;
  WordedTime worded;
  why = worded.read(text);
  return why.empty() ? std::optional(worded.seconds()) : std::nullopt;
}

}  // namespace

std::int64_t parse_time(std::string_view text, std::string_view what) {
  std::string why;
  if (const std::optional<std::int64_t> seconds = find_time(text, why)) return *seconds;
  throw ConfigError(
      fmt::format("{} is \"{}\", which {}. Write it as 2026-01-31T12:00:00Z, in UTC or "
                  "with its zone (+01:00), as git log or date -R print it, or 2026-01-31.",
                  what, escape_for_terminal(text), why));
}

std::int64_t parse_since(std::string_view text, std::string_view what, std::int64_t now) {
  std::string why;
  if (const std::optional<std::int64_t> seconds = find_time(text, why)) return *seconds;
  if (const std::optional<TimeSpan> span = read_span(text)) return before(now, *span);
  const std::string reason = why == "is not a time" ? "is neither a time nor so long ago" : why;
  throw ConfigError(fmt::format(
      "{} is \"{}\", which {}. Write it as 2026-01-31, "
      "2026-01-31T12:00:00Z or 2026-01-31T12:00:00+01:00, or as up to 9999 days, weeks, months or "
      "years, such as \"10 days\", \"2 weeks\", \"3 months\" or \"1 year\".",
      what, escape_for_terminal(text), reason));
}

}  // namespace dlscale
