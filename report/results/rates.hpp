#pragma once
#include <optional>
#include <string>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Rates that follow from a measurement's median time and declared work; absent where there is no
/// time or no such work, or where they make no finite number.
struct Rates {
  std::optional<FlopsPerSecond> flops;
  std::optional<FlopsPerSecond> algorithmic;  ///< by the operations that the algorithm executes
  std::optional<BytesPerSecond> bytes;
  std::optional<BytesPerSecond> algbw;   ///< of messages: core/results/bandwidths.hpp
  std::optional<BytesPerSecond> busbw;   ///< the same
  std::optional<BytesPerSecond> wirebw;  ///< the same
};
Rates rates(const Measurement& measurement);

/// The series a measurement is about: "time", else "t_iter", else "compute", else the first.
/// nullptr if it has none.
const std::pair<const std::string, Series>* main_series(const Measurement& measurement);

/// Whether there are samples enough for a 95 % interval of the median: 6 (core/base/statistics.hpp).
bool has_interval(const Summary& summary);
/// "±1.5 %"; "-" without an interval.
std::string interval_text(const Summary& summary);

}  // namespace dlscale::report
