#include "core/text/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/escape_for_terminal.hpp"

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
                                Unit{"TiB", kibi* kibi* kibi* kibi}};
constexpr std::array bandwidth_units{Unit{"B/s", 1},
                                     Unit{"kB/s", 1e3},
                                     Unit{"MB/s", 1e6},
                                     Unit{"GB/s", 1e9},
                                     Unit{"TB/s", 1e12},
                                     Unit{"KiB/s", kibi},
                                     Unit{"MiB/s", kibi* kibi},
                                     Unit{"GiB/s", kibi* kibi* kibi},
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

/// The longest unit that is a prefix of the word, "d" of "days"; else the first example.
std::string_view meant_unit(std::string_view word, const Dimension& wanted) {
  std::string_view longest;
  for (const Unit& unit : wanted.units) {
    if (word.starts_with(unit.name) && unit.name.size() > longest.size()) longest = unit.name;
  }
  return longest.empty() ? wanted.examples[0] : longest;
}

[[noreturn]] void refuse(std::string_view text, std::string_view where, std::string_view why,
                         std::string_view number, const Dimension& wanted,
                         std::string_view unit = {}) {
  const std::string_view first = meant_unit(unit, wanted);
  const std::string_view second = wanted.examples[first == wanted.examples[1] ? 0 : 1];
  throw ConfigError(fmt::format("{} is {} ({}). Write \"{} {}\" or \"{} {}\".", where,
                                text.empty() ? "empty" : escape_for_terminal(text), why, number,
                                first, number, second));
}

std::string why_not(std::string_view unit, const Dimension& wanted) {
  if (unit.empty()) return "no unit";
  for (const Dimension& other : all_dimensions) {
    if (find_unit(other, unit) != nullptr) {
      return fmt::format("{}, but {} is wanted", other.what, wanted.what);
    }
  }
  return fmt::format("\"{}\" is not a unit of {}", escape_for_terminal(unit), wanted.what);
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

double parse(std::string_view whole, std::string_view where, const Dimension& wanted) {
  const std::string_view text = trimmed_quantity(whole);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) refuse(text, where, "no number", "25", wanted);
  const std::string_view number = text.substr(0, static_cast<std::size_t>(end - text.data()));
  if (!std::isfinite(value)) refuse(text, where, "not finite", "25", wanted);
  const std::string_view name = trimmed_quantity(text.substr(number.size()));
  const Unit* unit = find_unit(wanted, name);
  if (unit == nullptr) {
    const Unit* const meant = find_unit(wanted, meant_unit(name, wanted));
    const bool countable = meant != nullptr && value * meant->si < wanted.below;
    refuse(text, where, why_not(name, wanted), advised(number, value, wanted), wanted,
           countable ? name : "");
  }
  const double si = value * unit->si;
  if (!std::isfinite(si) || std::abs(si) >= wanted.below) {
    refuse(text, where, "too large", "25", wanted);
  }
  if (si != 0 && std::abs(si) < wanted.least) refuse(text, where, "too small", "25", wanted);
  return si;
}

/// `digits` significant digits. Numbers with more digits before the point are rounded to integers;
/// those beyond 15 digits get a power of ten.
std::string with_digits(double value, int digits) {
  const double rounded_up = std::abs(value) * (1 + 0.5 * std::pow(10.0, -digits));  // 9.9999 → 10
  const int before_point = static_cast<int>(std::floor(std::log10(rounded_up))) + 1;
  constexpr int most_before_point = 15;  // the precision of a double
  if (before_point > most_before_point) return fmt::format("{:.{}e}", value, digits - 1);
  return fmt::format("{:.{}f}", value, std::max(0, digits - std::max(1, before_point)));
}

/// `ascending` holds the candidate units, smallest first.
std::string scaled(double si, std::span<const Unit> ascending, int digits) {
  if (si == 0 || !std::isfinite(si)) return fmt::format("{} {}", si, ascending.front().name);
  const Unit* chosen = &ascending.front();
  for (const Unit& unit : ascending) {
    // Otherwise 0.9999 of a unit would appear as a four-digit number of the smaller unit.
    if (std::abs(si) >= unit.si * 0.9995) chosen = &unit;
  }
  return fmt::format("{} {}", with_digits(si / chosen->si, digits), chosen->name);
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

std::string to_text(Seconds value) {
  static constexpr std::array units{Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3},
                                    Unit{"s", 1}};
  return scaled(value.si(), units, 4);
}

std::string to_text(Bytes value) {
  static constexpr std::array units{Unit{"B", 1}, Unit{"KiB", kibi}, Unit{"MiB", kibi * kibi},
                                    Unit{"GiB", kibi * kibi * kibi},
                                    Unit{"TiB", kibi * kibi * kibi * kibi}};
  return scaled(value.si(), units, std::abs(value.si()) < kibi ? 0 : 3);
}

std::string to_text(BytesPerSecond value) {
  static constexpr std::array units{Unit{"B/s", 1}, Unit{"kB/s", 1e3}, Unit{"MB/s", 1e6},
                                    Unit{"GB/s", 1e9}, Unit{"TB/s", 1e12}};
  return scaled(value.si(), units, 3);
}

std::string to_text(FlopsPerSecond value) {
  static constexpr std::array units{Unit{"FLOP/s", 1},     Unit{"kFLOP/s", 1e3},
                                    Unit{"MFLOP/s", 1e6},  Unit{"GFLOP/s", 1e9},
                                    Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};
  return scaled(value.si(), units, 3);
}

}  // namespace dlscale
