#include "core/text/numbers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale {
namespace {

struct PrintedUnit {
  std::string_view name;
  double si;
};

constexpr double printed_kibi = 1024.0;

/// `digits` significant digits, one less below 0.1, and none of them below 1e-6. Numbers with more
/// digits before the point are rounded to integers; those beyond 15 digits get a power of ten.
std::string with_digits(double value, int digits) {
  const double rounded_up = std::abs(value) * (1 + 0.5 * std::pow(10.0, -digits));  // 9.9999 → 10
  const int before_point = static_cast<int>(std::floor(std::log10(rounded_up))) + 1;
  constexpr int most_before_point = 15;  // the precision of a double
  if (before_point > most_before_point) return fmt::format("{:.{}e}", value, digits - 1);
  constexpr int least_before_point = -5;  // less is a rounding error
  int before = std::max(1, before_point);
  if (before_point <= 0 && before_point >= least_before_point) before = before_point + 1;
  return fmt::format("{:.{}f}", value, std::max(0, digits - before));
}

/// `ascending` holds the candidate units, smallest first.
std::string scaled(double si, std::span<const PrintedUnit> ascending, int digits) {
  if (si == 0 || !std::isfinite(si)) return fmt::format("{} {}", si, ascending.front().name);
  const PrintedUnit* chosen = &ascending.front();
  for (const PrintedUnit& unit : ascending) {
    // Otherwise 0.9999 of a unit would appear as a four-digit number of the smaller unit.
    if (std::abs(si) >= unit.si * 0.9995) chosen = &unit;
  }
  return fmt::format("{} {}", with_digits(si / chosen->si, digits), chosen->name);
}

}  // namespace

std::string significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return fmt::format("{}", value);
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  return fmt::format("{:.{}f}", value, std::clamp(digits - 1 - magnitude, 0, 9));
}

std::string milliseconds(Seconds time) {
  return significant(1e3 * time.si(), 4);
}

std::string percent(double fraction) {
  return fmt::format("{:.1f} %", 100 * fraction);
}

std::string signed_percent(double fraction) {
  return fmt::format("{:+.1f} %", 100 * fraction);
}

std::string scientific(double value) {
  return fmt::format("{:.1e}", value);
}

std::string exact(double value) {
  EXPECT(std::isfinite(value));
  return fmt::format("{}", value);
}

std::string grouped(long long count) {
  std::string text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string counted(long long count, const std::string& noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string to_text(Seconds value) {
  static constexpr std::array units{PrintedUnit{"ns", 1e-9}, PrintedUnit{"us", 1e-6},
                                    PrintedUnit{"ms", 1e-3}, PrintedUnit{"s", 1}};
  return scaled(value.si(), units, 4);
}

std::string to_text(Bytes value) {
  static constexpr std::array units{
      PrintedUnit{"B", 1}, PrintedUnit{"KiB", printed_kibi},
      PrintedUnit{"MiB", printed_kibi * printed_kibi},
      PrintedUnit{"GiB", printed_kibi * printed_kibi * printed_kibi},
      PrintedUnit{"TiB", printed_kibi * printed_kibi * printed_kibi * printed_kibi}};
  return scaled(value.si(), units, std::abs(value.si()) < printed_kibi ? 0 : 3);
}

std::string to_text(BytesPerSecond value) {
  if (std::abs(value.si()) < 0.9995) return fmt::format("{} B/s", value.si());
  static constexpr std::array units{PrintedUnit{"B/s", 1}, PrintedUnit{"kB/s", 1e3},
                                    PrintedUnit{"MB/s", 1e6}, PrintedUnit{"GB/s", 1e9},
                                    PrintedUnit{"TB/s", 1e12}};
  return scaled(value.si(), units, 3);
}

std::string to_text(FlopsPerSecond value) {
  static constexpr std::array units{PrintedUnit{"FLOP/s", 1},     PrintedUnit{"kFLOP/s", 1e3},
                                    PrintedUnit{"MFLOP/s", 1e6},  PrintedUnit{"GFLOP/s", 1e9},
                                    PrintedUnit{"TFLOP/s", 1e12}, PrintedUnit{"PFLOP/s", 1e15}};
  return scaled(value.si(), units, 3);
}

}  // namespace dlscale
