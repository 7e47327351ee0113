#include "core/text/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/size_text.hpp"

namespace dlscale {
namespace {

struct Unit {
  std::string_view name;
  double si;
};

constexpr double kibi = 1024.0;
constexpr std::array time_units{Unit{"s", 1},     Unit{"ms", 1e-3}, Unit{"us", 1e-6},
                                Unit{"µs", 1e-6}, Unit{"ns", 1e-9}, Unit{"min", 60},
                                Unit{"h", 3600},  Unit{"d", 86400}};
constexpr std::array size_units{Unit{"B", 1},
                                Unit{"kB", 1e3},
                                Unit{"MB", 1e6},
                                Unit{"GB", 1e9},
                                Unit{"TB", 1e12},
                                Unit{"KiB", kibi},
                                Unit{"MiB", kibi* kibi},
                                Unit{"GiB", kibi* kibi* kibi},
                                Unit{"TiB", kibi* kibi* kibi* kibi},
                                Unit{"PB", 1e15},
                                Unit{"PiB", kibi* kibi* kibi* kibi* kibi}};
constexpr std::array bandwidth_units{Unit{"B/s", 1},
                                     Unit{"kB/s", 1e3},
                                     Unit{"MB/s", 1e6},
                                     Unit{"GB/s", 1e9},
                                     Unit{"TB/s", 1e12},
                                     Unit{"KiB/s", kibi},
                                     Unit{"MiB/s", kibi* kibi},
                                     Unit{"GiB/s", kibi* kibi* kibi},
                                     Unit{"TiB/s", kibi* kibi* kibi* kibi},
                                     Unit{"b/s", 1 / 8.0},
                                     Unit{"kb/s", 1e3 / 8},
                                     Unit{"Mb/s", 1e6 / 8},
                                     Unit{"Gb/s", 1e9 / 8},
                                     Unit{"Tb/s", 1e12 / 8}};
constexpr std::array speed_units{Unit{"FLOP/s", 1},     Unit{"kFLOP/s", 1e3},
                                 Unit{"MFLOP/s", 1e6},  Unit{"GFLOP/s", 1e9},
                                 Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};

/// The expected quantity: its units and two of them as examples.
struct Dimension {
  std::string_view what;
  std::span<const Unit> units;
  std::array<std::string_view, 2> examples;
  enum class Zero { is_nothing, is_sensible } zero = Zero::is_nothing;
  /// Limits of values other than zero: a value beyond them is a typing error, and results computed
  /// from it may not be finite.
  double least = 0;
  double below = std::numeric_limits<double>::infinity();
};

/// Counts of bytes must fit into signed 64-bit integers.
constexpr double byte_limit = 0x1p63;
/// More bytes than any memory holds. Whole numbers of a double are exact below.
constexpr double most_bytes = 9e15;

constexpr Dimension time_dimension{
    "a time", time_units, {"ms", "us"}, Dimension::Zero::is_sensible, 1e-15, max_plausible_time_s};
constexpr Dimension size_dimension{"an amount of data",         size_units, {"MB", "MiB"},
                                   Dimension::Zero::is_nothing, 1e-3,       byte_limit};
constexpr Dimension bandwidth_dimension{
    "a bandwidth", bandwidth_units, {"GB/s", "Gb/s"}, Dimension::Zero::is_nothing, 1e-3, 1e18};
constexpr Dimension speed_dimension{
    "a computing speed",         speed_units, {"TFLOP/s", "GFLOP/s"},
    Dimension::Zero::is_nothing, 1e-3,        1e31};
constexpr std::array all_dimensions{time_dimension, size_dimension, bandwidth_dimension,
                                    speed_dimension};

const Unit* find_unit(const Dimension& dimension, std::string_view name) {
  for (const Unit& unit : dimension.units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

std::string_view trimmed_quantity(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool is_of_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// A unit as other tools write it, and ours.
struct OtherName {
  std::string_view other;
  std::string_view ours;
};
constexpr std::array other_names{OtherName{"sec", "s"},          OtherName{"secs", "s"},
                                 OtherName{"second", "s"},       OtherName{"seconds", "s"},
                                 OtherName{"msec", "ms"},        OtherName{"msecs", "ms"},
                                 OtherName{"millisecond", "ms"}, OtherName{"milliseconds", "ms"},
                                 OtherName{"usec", "us"},        OtherName{"usecs", "us"},
                                 OtherName{"microsecond", "us"}, OtherName{"microseconds", "us"},
                                 OtherName{"μs", "us"},          OtherName{"nsec", "ns"},
                                 OtherName{"nsecs", "ns"},       OtherName{"nanosecond", "ns"},
                                 OtherName{"nanoseconds", "ns"}, OtherName{"mins", "min"},
                                 OtherName{"minute", "min"},     OtherName{"minutes", "min"},
                                 OtherName{"hr", "h"},           OtherName{"hrs", "h"},
                                 OtherName{"hour", "h"},         OtherName{"hours", "h"},
                                 OtherName{"day", "d"},          OtherName{"days", "d"},
                                 OtherName{"byte", "B"},         OtherName{"bytes", "B"},
                                 OtherName{"Byte", "B"},         OtherName{"Bytes", "B"}};

/// Replaces the ending of a name, if it has it.
bool replace_ending(std::string& name, std::string_view ending, std::string_view by) {
  if (!name.ends_with(ending)) return false;
  name.replace(name.size() - ending.size(), ending.size(), by);
  return true;
}

/// Our name of a unit that another tool writes as "Gbps", "Gbit/s", "Gbits/sec", "GBps", "TFLOPS"
/// or "usec"; the same name otherwise. Names that mean one thing here and another there stay:
/// "KB" has 1000 or 1024 bytes.
std::string our_name(std::string_view unit) {
  for (const OtherName& known : other_names) {
    if (known.other == unit) return std::string(known.ours);
  }
  std::string name(unit);
  replace_ending(name, "/sec", "/s");
  for (const std::string_view operations : {"FLOPS", "FLOPs", "Flops", "flops", "FLOP/s", "FLOPS/s",
                                            "FLOPs/s", "Flop/s", "Flops/s", "flop/s", "flops/s"}) {
    if (name.size() <= operations.size() + 1 && replace_ending(name, operations, "FLOP/s"))
      return name;
  }
  const bool is_of_bits =
      replace_ending(name, "bps", "b/s") || replace_ending(name, "bits/s", "b/s") ||
      replace_ending(name, "bit/s", "b/s") || replace_ending(name, "Bits/s", "b/s") ||
      replace_ending(name, "Bit/s", "b/s");
  if (is_of_bits && name.starts_with('K')) name.front() = 'k';  // bits have decimal prefixes alone
  if (is_of_bits) return name;
  for (const std::string_view bytes : {"Bps", "bytes/s", "byte/s", "Bytes/s", "Byte/s"}) {
    if (replace_ending(name, bytes, "B/s")) break;
  }
  return name;
}

/// The longest unit that is a prefix of the word, "d" of "days"; else the first example.
std::string_view meant_unit(std::string_view word, const Dimension& wanted) {
  std::string_view longest;
  for (const Unit& unit : wanted.units) {
    if (word.starts_with(unit.name) && unit.name.size() > longest.size()) longest = unit.name;
  }
  return longest.empty() ? wanted.examples[0] : longest;
}

/// Units that differ from the word in capitals alone, which change a meaning: "gb/s".
std::vector<std::string_view> units_but_for_capitals(std::string_view word,
                                                     const Dimension& wanted) {
  const auto lower = [](std::string_view text) {
    std::string small(text);
    std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
    return small;
  };
  std::vector<std::string_view> found;
  for (const Unit& unit : wanted.units) {
    if (lower(unit.name) == lower(our_name(word))) found.push_back(unit.name);
  }
  // A small b counts bits more often than bytes.
  if (word.find('b') != std::string_view::npos) std::ranges::reverse(found);
  return found;
}

/// Units that a word may mean, which is not one itself, the likeliest first: those of "M" and "KB",
/// of which some tools make 1000 and others 1024, and of "gb/s", which may count bits.
std::vector<std::string_view> possible_units(std::string_view word, const Dimension& wanted) {
  constexpr std::string_view prefixes = "kKMGTP";
  std::string_view stem = word.substr(0, word.find_first_of("Bb/"));
  const bool is_prefix = stem.size() == 1 && prefixes.find(stem.front()) != std::string_view::npos;
  std::vector<std::string_view> found;
  const bool is_size = wanted.what == size_dimension.what;
  if (is_size && is_prefix && (stem == word || word == "KB" || word == "kb" || word == "Kb")) {
    const char decimal = stem.front() == 'K' ? 'k' : stem.front();
    const char binary = stem.front() == 'k' ? 'K' : stem.front();
    for (const Unit& unit : wanted.units) {
      if (unit.name == fmt::format("{}B", decimal) || unit.name == fmt::format("{}iB", binary)) {
        found.push_back(unit.name);
      }
    }
    return found;
  }
  const bool has_binary_prefix = stem.size() == 2 && stem == word && word.back() == 'i';
  if (is_size && has_binary_prefix) {  // "64Ki", as Kubernetes writes it
    for (const Unit& unit : wanted.units) {
      if (unit.name.starts_with(word)) found.push_back(unit.name);
    }
    return found;
  }
  const bool is_rate = wanted.what == bandwidth_dimension.what;
  if (is_rate && is_prefix && (word.ends_with("bit") || word.ends_with("bE"))) {  // "100GbE"
    for (const Unit& unit : wanted.units) {
      if (unit.name == fmt::format("{}b/s", stem)) found.push_back(unit.name);
    }
    return found;
  }
  return units_but_for_capitals(word, wanted);
}

/// Whether a number without a unit is a count of bytes, as other tools take it.
bool is_of_bytes(std::string_view number, const Dimension& wanted) {
  constexpr double least = 1000;
  double value = 0;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return wanted.what == size_dimension.what && value >= least;
}

std::string why_not(std::string_view unit, const Dimension& wanted) {
  if (unit.empty()) return "no unit";
  for (const Dimension& other : all_dimensions) {
    if (find_unit(other, our_name(unit)) != nullptr) {
      return fmt::format("{}, but {} is wanted", other.what, wanted.what);
    }
  }
  const std::string_view ambiguous =
      possible_units(unit, wanted).size() > 1 ? ", which tools read differently" : "";
  return fmt::format("\"{}\" is not a unit of {}{}", escape_for_terminal(unit), wanted.what,
                     ambiguous);
}

constexpr std::string_view above_zero = "it must be above 0";

[[noreturn]] void refuse(std::string_view text, std::string_view where, std::string_view why,
                         std::string_view number, const Dimension& wanted,
                         std::string_view unit = {}) {
  std::vector<std::string_view> possible = possible_units(unit, wanted);
  if (unit.empty() && is_of_bytes(number, wanted)) possible = {"B"};
  if (possible.size() == 1) {
    throw ConfigError(fmt::format("{} is {} ({}). Write \"{} {}\".", where,
                                  escape_for_terminal(text), why, number, possible.front()));
  }
  const std::string_view first = possible.empty() ? meant_unit(unit, wanted) : possible[0];
  const std::string_view other = wanted.examples[first == wanted.examples[1] ? 0 : 1];
  const std::string_view second = possible.size() > 1 ? possible[1] : other;
  throw ConfigError(fmt::format("{} is {} ({}). Write \"{} {}\" or \"{} {}\".", where,
                                text.empty() ? "empty" : escape_for_terminal(text), why, number,
                                first, number, second));
}

/// The number as typed, if advice may repeat it: 0 bytes are never meant, nor are amounts that
/// exceed the limit.
std::string_view advised(std::string_view number, double value, const Dimension& wanted) {
  const auto countable = [&](std::string_view unit) {
    return value * find_unit(wanted, unit)->si < wanted.below;
  };
  const bool sensible = (value > 0 && std::ranges::all_of(wanted.examples, countable)) ||
                        (value == 0 && wanted.zero == Dimension::Zero::is_sensible);
  return sensible ? number : "25";
}

/// The number without its comma, both as a separator of thousands and as a decimal point.
[[noreturn]] void refuse_comma(std::string_view text, std::string_view where,
                               const Dimension& wanted) {
  std::string whole(text);
  std::string point(text);
  std::erase(whole, ',');
  std::ranges::replace(point, ',', '.');
  const bool one_comma = std::ranges::count(text, ',') == 1;
  throw ConfigError(
      fmt::format("{} is {} (a comma in the number of {}). Write \"{}\"{}.", where,
                  escape_for_terminal(text), wanted.what, escape_for_terminal(whole),
                  one_comma ? fmt::format(" or \"{}\"", escape_for_terminal(point)) : ""));
}

/// Refuses numbers without units before the last: "12,5GB/s", "4,096KiB" and "8,16,32KiB".
[[noreturn]] void refuse_commas(std::string_view option, std::span<const std::string> before,
                                std::string_view last, std::string_view unit) {
  std::string joined;
  std::string several;
  bool in_thousands = last.substr(0, last.find('.')).size() == 3 && before.front().size() <= 3;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const std::string_view number = trimmed_quantity(before[i]);
    in_thousands = in_thousands && (i == 0 ? number.front() != '0' : number.size() == 3);
    joined += number;
    several += fmt::format("{}{},", number, unit);
  }
  const bool has_point = last.find('.') != std::string_view::npos;
  std::string one;
  if (in_thousands) one = fmt::format("{}{}{}", joined, last, unit);
  if (before.size() == 1 && !has_point) {
    one += fmt::format("{}{}.{}{}", one.empty() ? "" : " or ", joined, last, unit);
  }
  const std::string for_one = one.empty() ? "" : fmt::format("{} for one value, or ", one);
  const std::string_view for_all = one.empty()          ? ""
                                   : before.size() == 1 ? " for two"
                                                        : " for several";
  throw ConfigError(
      fmt::format("{}: {} has no unit, since a comma stands between two values. Write {}{}{}{}{}.",
                  option, trimmed_quantity(before.front()), for_one, several, last, unit, for_all));
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

/// Refuses "10Gb/s;25Gb/s", whose separator is not a comma.
void refuse_separators(std::string_view text, std::string_view where, std::string_view number,
                       std::string_view behind) {
  for (std::size_t at = 1; at + 1 < behind.size(); ++at) {
    const std::string_view next = trimmed_quantity(behind.substr(at + 1));
    const bool is_mark = std::string_view(";|+/ ").find(behind[at]) != std::string_view::npos;
    if (!is_mark || next.empty() || !is_of_digits(next.substr(0, 1))) continue;
    const std::string_view unit = trimmed_quantity(behind.substr(0, at));
    throw ConfigError(fmt::format(
        "{} is {} (several values). Write a comma between two: \"{}{},{}\".", where,
        escape_for_terminal(text), number, escape_for_terminal(unit), escape_for_terminal(next)));
  }
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
  if (name.size() > 1 && name.front() == ',' && name[1] >= '0' && name[1] <= '9') {
    refuse_comma(text, where, wanted);
  }
  const Unit* unit = find_unit(wanted, our_name(name));
  const bool has_zero = wanted.zero == Dimension::Zero::is_sensible;
  if (value < 0) refuse(text, where, has_zero ? "negative" : above_zero, "25", wanted);
  if (value == 0 && name.empty() && !has_zero) refuse(text, where, above_zero, "25", wanted);
  if (unit == nullptr) {
    refuse_clock(text, where, wanted);
    refuse_range(text, where, number, name, wanted);
    refuse_separators(text, where, number, name);
    const Unit* const meant = find_unit(wanted, meant_unit(name, wanted));
    const bool countable = meant != nullptr && value * meant->si < wanted.below;
    refuse(text, where, why_not(name, wanted), advised(number, value, wanted), wanted,
           countable ? name : "");
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
    while (last + 1 < items.size() && is_of_digits(trimmed_quantity(items[last]))) ++last;
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
