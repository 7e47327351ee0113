#pragma once
#include <array>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"

/// The units of quantities, their names in other tools, and the units that a wrong one may mean.
namespace dlscale::quantity {

struct Unit {
  std::string_view name;
  double si;
};

inline constexpr double kibi = 1024.0;
inline constexpr std::array time_units{Unit{"s", 1},     Unit{"ms", 1e-3}, Unit{"us", 1e-6},
                                Unit{"µs", 1e-6}, Unit{"ns", 1e-9}, Unit{"min", 60},
                                Unit{"h", 3600},  Unit{"d", 86400}};
inline constexpr std::array size_units{Unit{"B", 1},
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
inline constexpr std::array bandwidth_units{Unit{"B/s", 1},
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
                                     Unit{"Tb/s", 1e12 / 8},
                                     Unit{"Kib/s", kibi / 8},
                                     Unit{"Mib/s", kibi* kibi / 8},
                                     Unit{"Gib/s", kibi* kibi* kibi / 8}};
inline constexpr std::array speed_units{Unit{"FLOP/s", 1},     Unit{"kFLOP/s", 1e3},
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
inline constexpr double byte_limit = 0x1p63;
/// More bytes than any memory holds. Whole numbers of a double are exact below.
inline constexpr double most_bytes = 9e15;

inline constexpr Dimension time_dimension{
    "a time", time_units, {"ms", "us"}, Dimension::Zero::is_sensible, 1e-15, max_plausible_time_s};
inline constexpr Dimension size_dimension{"an amount of data",         size_units, {"MB", "MiB"},
                                   Dimension::Zero::is_nothing, 1e-3,       byte_limit};
inline constexpr Dimension bandwidth_dimension{
    "a bandwidth", bandwidth_units, {"GB/s", "Gb/s"}, Dimension::Zero::is_nothing, 1e-3, 1e18};
inline constexpr Dimension speed_dimension{
    "a computing speed",         speed_units, {"TFLOP/s", "GFLOP/s"},
    Dimension::Zero::is_nothing, 1e-3,        1e31};
inline constexpr std::array all_dimensions{time_dimension, size_dimension, bandwidth_dimension,
                                    speed_dimension};

/// The unit of that name, which is one of ours; nullptr if there is none.
const Unit* find_unit(const Dimension& dimension, std::string_view name);

/// Our name of a unit that another tool writes as "Gbps", "Gbit/s", "Gbits/sec", "GBps", "TFLOPS"
/// or "usec"; the same name otherwise. Names that mean one thing here and another there stay:
/// "KB" has 1000 or 1024 bytes.
std::string our_name(std::string_view unit);

/// Why a word does not name a unit of the wanted quantity, for messages.
std::string why_not(std::string_view unit, const Dimension& wanted);

/// The value of a number in plain digits; 0 for other text.
double value_of(std::string_view number);

/// The units of what a user may have meant, the likeliest first.
std::vector<std::string_view> meant_units(std::string_view word, std::string_view number,
                                          const Dimension& wanted);

/// Whether a value with its unit would be taken, so that advice may name it.
bool is_taken(std::string_view number, std::string_view unit, const Dimension& wanted);

}  // namespace dlscale::quantity
