#include "core/text/quantity_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/quantity_units.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/size_text.hpp"

namespace dlscale {
namespace {

using quantity::bandwidth_dimension;
using quantity::Dimension;
using quantity::find_unit;
using quantity::is_taken;
using quantity::meant_units;
using quantity::most_bytes;
using quantity::our_name;
using quantity::size_dimension;
using quantity::speed_dimension;
using quantity::time_dimension;
using quantity::Unit;
using quantity::value_of;
using quantity::why_not;

/// Without blanks around it, also those of fixed width that are copied from a page.
std::string_view trimmed_quantity(std::string_view text) {
  constexpr std::array<std::string_view, 5> blanks{" ", "\t", "\u00a0", "\u202f", "\u2009"};
  for (bool is_cut = true; is_cut;) {
    is_cut = false;
    for (const std::string_view blank : blanks) {
      const bool begins = text.starts_with(blank);
      if (begins) text.remove_prefix(blank.size());
      const bool ends = text.ends_with(blank);
      if (ends) text.remove_suffix(blank.size());
      is_cut = is_cut || begins || ends;
    }
  }
  return text;
}

bool is_of_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_of_digits_and_points(std::string_view text) {
  return is_of_digits(text.substr(0, 1)) &&
         text.find_first_not_of("0123456789.") == std::string_view::npos;
}

constexpr std::string_view above_zero = "it must be above 0";

/// Names each number with each unit that was meant; an example if none of them would be taken.
[[noreturn]] void refuse(std::string_view text, std::string_view where, std::string_view why,
                         std::span<const std::string> numbers, const Dimension& wanted,
                         std::string_view unit = {}) {
  std::vector<std::string> advised;
  for (const std::string& number : numbers) {
    for (const std::string_view meant : meant_units(unit, number, wanted)) {
      if (is_taken(number, meant, wanted)) {
        advised.push_back(fmt::format("\"{} {}\"", number, meant));
      }
    }
  }
  if (advised.empty()) {
    for (const std::string_view example : wanted.examples) {
      advised.push_back(fmt::format("\"25 {}\"", example));
    }
  }
  throw ConfigError(fmt::format("{} is {} ({}). Write {}.", where,
                                text.empty() ? "empty" : escape_for_terminal(text), why,
                                fmt::join(advised, " or ")));
}

[[noreturn]] void refuse(std::string_view text, std::string_view where, std::string_view why,
                         std::string_view number, const Dimension& wanted,
                         std::string_view unit = {}) {
  const std::array one{std::string(number)};
  refuse(text, where, why, one, wanted, unit);
}

/// Digits at the beginning of a text, the marks between them, and what follows.
struct MarkedNumber {
  std::vector<std::string> parts;
  std::vector<std::string> marks;  ///< one fewer
  std::string_view behind;
};

MarkedNumber marked_number(std::string_view text) {
  constexpr std::array<std::string_view, 9> marks{".", ",",      "'",      "’",     "_",
                                                  " ", "\u00a0", "\u202f", "\u2009"};
  MarkedNumber found;
  while (true) {
    const std::size_t end = std::min(text.find_first_not_of("0123456789"), text.size());
    found.parts.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
    const auto* const mark = std::ranges::find_if(marks, [&](std::string_view one) {
      return text.starts_with(one) && is_of_digits(text.substr(one.size(), 1));
    });
    if (end == 0 || mark == marks.end()) break;
    found.marks.emplace_back(*mark);
    text.remove_prefix(mark->size());
  }
  found.behind = trimmed_quantity(text);
  return found;
}

/// Readings of a number with marks, without them: "1,024" is 1024 or 1.024, "1.000,5" is 1000.5.
/// Empty if its marks divide no thousands, and no comma is a decimal point.
std::vector<std::string> readings_of(const MarkedNumber& number) {
  if (number.marks.empty()) return {};
  const std::string& mark = number.marks.front();
  const std::string& last_mark = number.marks.back();
  const bool has_decimals = last_mark != mark;
  const auto ends = number.parts.end() - (has_decimals ? 1 : 0);
  bool in_thousands = number.parts.front().size() <= 3 && !number.parts.front().starts_with('0');
  bool has_zero = mark != " ";  // a blank also stands between the values of a list
  std::string joined = number.parts.front();
  for (auto part = number.parts.begin() + 1; part != ends; ++part) {
    in_thousands = in_thousands && part->size() == 3;
    has_zero = has_zero || part->starts_with('0');
    joined += *part;
  }
  in_thousands = in_thousands && has_zero &&
                 std::all_of(number.marks.begin(), number.marks.end() - (has_decimals ? 1 : 0),
                             [&](const std::string& each) { return each == mark; });
  const std::string& last = number.parts.back();
  if (has_decimals) {
    const bool is_point = last_mark == "." || last_mark == ",";
    if (!in_thousands || !is_point) return {};
    return {fmt::format("{}.{}", joined, last)};
  }
  std::vector<std::string> readings;
  if (in_thousands) readings.push_back(joined);
  const bool may_be_decimal = mark == "," && number.marks.size() == 1;
  if (may_be_decimal && !(in_thousands && last == "000")) {
    readings.push_back(fmt::format("{}.{}", number.parts.front(), last));
  }
  return readings;
}

/// Refuses marks between thousands and decimal commas, with the number without them.
void refuse_marks(std::string_view text, std::string_view where, const Dimension& wanted) {
  const MarkedNumber number = marked_number(text);
  const bool is_plain =
      number.marks.empty() || (number.marks.size() == 1 && number.marks.front() == ".");
  if (is_plain) return;
  const std::vector<std::string> readings = readings_of(number);
  const bool has_comma = std::ranges::count(number.marks, ",") > 0;
  if (!readings.empty()) {
    const char* const mark = number.marks.size() == 1 && has_comma ? "a comma" : "marks";
    refuse(text, where, fmt::format("{} in the number of {}", mark, wanted.what), readings, wanted,
           number.behind);
  }
  if (!has_comma) return;
  refuse(text, where, "several values, and one is taken", number.parts.front(), wanted,
         number.behind);
}

/// Refuses numbers without units before the last: "12,5GB/s", "4,096KiB" and "8,16,32KiB".
[[noreturn]] void refuse_commas(std::string_view option, std::span<const std::string> before,
                                std::string_view last, std::string_view unit) {
  std::string joined;
  std::string several;
  bool are_several = !last.starts_with('0');
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::string_view number = trimmed_quantity(before[i]);
    are_several = are_several && (value_of(number) > 0 && (i == 0 || !number.starts_with('0')));
    joined += fmt::format("{},", number);
    several += fmt::format("{}{},", number, unit);
  }
  std::vector<std::string> one;
  for (const std::string& number : readings_of(marked_number(fmt::format("{}{}", joined, last)))) {
    one.push_back(number + std::string(unit));
  }
  several = are_several ? fmt::format("{}{}{}", several, last, unit) : "";
  std::string advice = fmt::format("{}", fmt::join(one, " or "));
  if (one.empty()) advice = several.empty() ? fmt::format("{}{}", last, unit) : several;
  if (!one.empty() && !several.empty()) {
    advice += fmt::format(" for one value, or {} for {}", several,
                          before.size() == 1 ? "two" : "several");
  }
  throw ConfigError(
      fmt::format("{}: {} has no unit, since a comma stands between two values. Write {}.", option,
                  trimmed_quantity(before.front()), advice));
}

/// Refuses "64KiB:1MiB" and "8-1024", where `behind` follows the first number, and names doubles.
void refuse_range(std::string_view text, std::string_view where, std::string_view number,
                  std::string_view behind, const Dimension& wanted) {
  for (const std::string_view mark : {":", "-", "–", "..", "~", " to "}) {
    const std::size_t at = behind.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view last = trimmed_quantity(behind.substr(at + mark.size()));
    const std::size_t digits = std::min(last.find_first_not_of("0123456789."), last.size());
    std::string unit = our_name(trimmed_quantity(behind.substr(0, at)));
    if (unit.empty()) unit = our_name(trimmed_quantity(last.substr(digits)));
    const bool counts_bytes =
        trimmed_quantity(behind.substr(0, at)).empty() && wanted.what == size_dimension.what;
    if (counts_bytes && find_unit(wanted, unit) == nullptr) unit = "B";
    if (digits == 0 || find_unit(wanted, unit) == nullptr) continue;
    double first = 0;
    std::from_chars(number.data(), number.data() + number.size(), first);
    throw ConfigError(fmt::format(
        "{0} is {1} (a range). Write the values themselves, such as \"{2}{5},{3}{5},{4}{5}\".",
        where, escape_for_terminal(text), first, 2 * first, 4 * first, unit));
  }
}

/// The texts between the marks of a list that has no commas: "10Gb/s;25Gb/s", "10 25 Gb/s".
std::vector<std::string_view> listed_values(std::string_view text) {
  std::vector<std::string_view> values;
  std::size_t from = 0;
  for (std::size_t at = 1; at < text.size(); ++at) {
    const bool is_mark = std::string_view(";|+/ ").find(text[at]) != std::string_view::npos;
    const bool is_exponent = text[at - 1] == 'e' || text[at - 1] == 'E';
    const std::string_view next = trimmed_quantity(text.substr(at + 1));
    if (!is_mark || is_exponent || !is_of_digits(next.substr(0, 1))) continue;
    values.push_back(trimmed_quantity(text.substr(from, at - from)));
    from = at + 1;
  }
  values.push_back(trimmed_quantity(text.substr(from)));
  return values;
}

/// Refuses a list whose separator is not a comma, with one that has commas.
void refuse_separators(std::string_view text, std::string_view where, const Dimension& wanted) {
  const std::vector<std::string_view> values = listed_values(text);
  if (values.size() < 2) return;
  constexpr std::string_view digits = "0123456789.";
  const auto unit_of = [&](std::string_view value) {
    return trimmed_quantity(value.substr(std::min(value.find_first_not_of(digits), value.size())));
  };
  std::vector<std::string> written;
  for (const std::string_view value : values) {
    const std::string_view number =
        value.substr(0, std::min(value.find_first_not_of(digits), value.size()));
    const std::string_view unit = unit_of(value).empty() ? unit_of(values.back()) : unit_of(value);
    const std::string ours = our_name(unit);
    if (number.empty() || find_unit(wanted, ours) == nullptr || !is_taken(number, ours, wanted)) {
      return;
    }
    written.push_back(fmt::format("{}{}", number, unit));
  }
  throw ConfigError(fmt::format("{} is {} (values without commas between them). Write \"{}\".",
                                where, escape_for_terminal(text), fmt::join(written, ",")));
}

/// Refuses "1:30:00" and "0:45", hours, minutes and seconds on a clock, with the seconds.
void refuse_clock(std::string_view text, std::string_view where, const Dimension& wanted) {
  if (wanted.what != time_dimension.what || text.find(':') == std::string_view::npos) return;
  double seconds = 0;
  int parts = 0;
  for (std::size_t from = 0; from <= text.size(); ++parts) {
    const std::size_t end = std::min(text.find(':', from), text.size());
    const std::string_view part = text.substr(from, end - from);
    if (!is_of_digits(part) || (parts > 0 && part.size() != 2)) return;
    double value = 0;
    std::from_chars(part.data(), part.data() + part.size(), value);
    seconds = seconds * 60 + value;
    from = end + 1;
  }
  if (parts == 2) seconds *= 60;
  if (parts > 3 || seconds >= wanted.below) return;
  throw ConfigError(
      fmt::format("{} is {} (a time on a clock). Write \"{} s\".", where, text, seconds));
}

/// Refuses a generation of InfiniBand, with the rate of a link of four lanes.
void refuse_generation(std::string_view text, std::string_view where, const Dimension& wanted) {
  struct Generation {
    std::string_view name;
    int gigabits;
  };
  constexpr std::array generations{Generation{"SDR", 10},  Generation{"DDR", 20},
                                   Generation{"QDR", 40},  Generation{"FDR", 56},
                                   Generation{"EDR", 100}, Generation{"HDR", 200},
                                   Generation{"NDR", 400}, Generation{"XDR", 800}};
  std::string name(text);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const Generation& known : generations) {
    if (wanted.what != bandwidth_dimension.what || !name.starts_with(known.name)) continue;
    const std::string_view rate = std::string_view(name).substr(known.name.size());
    if (!rate.empty() && !is_of_digits(rate)) continue;
    throw ConfigError(
        fmt::format("{} is {} (a generation of InfiniBand, no rate). Write \"{} Gb/s\"{}.", where,
                    text, rate.empty() ? std::to_string(known.gigabits) : std::string(rate),
                    rate.empty() ? ", for four lanes" : ""));
  }
}

double parse(std::string_view whole, std::string_view where, const Dimension& wanted) {
  const std::string_view text = trimmed_quantity(whole);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.data()));
  if (error == std::errc::result_out_of_range) {
    const bool is_tiny =
        number.find("e-") != std::string_view::npos || number.find("E-") != std::string_view::npos;
    refuse(text, where, is_tiny ? "too small" : "too large", "25", wanted);
  }
  if (error != std::errc{}) {
    refuse_generation(text, where, wanted);
    refuse(text, where, "no number", "25", wanted);
  }
  if (!std::isfinite(value)) refuse(text, where, "not finite", "25", wanted);
  const std::string_view name = trimmed_quantity(text.substr(number.size()));
  refuse_marks(text, where, wanted);
  const Unit* unit = find_unit(wanted, our_name(name));
  const bool has_zero = wanted.zero == Dimension::Zero::is_sensible;
  if (value < 0) refuse(text, where, has_zero ? "negative" : above_zero, "25", wanted);
  if (value == 0 && name.empty() && !has_zero) refuse(text, where, above_zero, "25", wanted);
  if (unit == nullptr) {
    refuse_clock(text, where, wanted);
    refuse_range(text, where, number, name, wanted);
    refuse_separators(text, where, wanted);
    refuse(text, where, why_not(name, wanted), number, wanted, name);
  }
  const double si = value * unit->si;
  if (!std::isfinite(si) || si >= wanted.below) refuse(text, where, "too large", "25", wanted);
  if (wanted.what == size_dimension.what && si >= most_bytes) {
    refuse(text, where, "more than any memory holds", "25", wanted);
  }
  if (si != 0 && si < wanted.least) refuse(text, where, "too small", "25", wanted);
  return si;
}

}  // namespace

template <>
Seconds parse_quantity<Seconds>(std::string_view text, std::string_view where) {
  return Seconds(parse(text, where, time_dimension));
}
template <>
Bytes parse_quantity<Bytes>(std::string_view text, std::string_view where) {
  return Bytes(parse(text, where, size_dimension));
}
template <>
BytesPerSecond parse_quantity<BytesPerSecond>(std::string_view text, std::string_view where) {
  return BytesPerSecond(parse(text, where, bandwidth_dimension));
}
template <>
FlopsPerSecond parse_quantity<FlopsPerSecond>(std::string_view text, std::string_view where) {
  return FlopsPerSecond(parse(text, where, speed_dimension));
}

void refuse_commas_in_numbers(std::string_view option, std::span<const std::string> items) {
  for (std::size_t first = 0; first + 1 < items.size(); ++first) {
    std::size_t last = first;
    while (last + 1 < items.size() && is_of_digits_and_points(trimmed_quantity(items[last])))
      ++last;
    if (last == first) continue;
    const std::string_view text = trimmed_quantity(items[last]);
    const std::size_t unit = std::min(text.find_first_not_of("0123456789."), text.size());
    if (unit > 0 && unit < text.size()) {
      refuse_commas(option, items.subspan(first, last - first), text.substr(0, unit),
                    text.substr(unit));
    }
    first = last;
  }
}

std::int64_t parse_whole_elements(std::string_view text, std::string_view where,
                                  std::int64_t element, std::string_view what) {
  const double bytes = parse_quantity<Bytes>(text, where).si();
  const auto unit = static_cast<double>(element);
  if (bytes >= unit && std::fmod(bytes, unit) == 0) return static_cast<std::int64_t>(bytes);
  const std::string why = bytes == 0 ? std::string(above_zero)
                          : bytes < unit
                              ? fmt::format("less than {} B", element)
                              : fmt::format("not a whole number of {} of {} B each", what, element);
  throw ConfigError(fmt::format("{} is {} ({}). Write \"{} B\" or \"1 MiB\".", where,
                                escape_for_terminal(text), why, element));
}

}  // namespace dlscale
