#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::report {

/// Rates from a measurement's median time and declared work. Absent without a time or such work, or
/// if the rate is not finite.
struct Rates {
  std::optional<FlopsPerSecond> flops;
  std::optional<FlopsPerSecond> algorithmic;  ///< counts the operations that the algorithm executes
  std::optional<BytesPerSecond> bytes;
  std::optional<BytesPerSecond> algbw;   ///< for messages: core/results/bandwidths.hpp
  std::optional<BytesPerSecond> busbw;   ///< likewise
  std::optional<BytesPerSecond> wirebw;  ///< likewise
};
Rates rates(const Measurement& measurement);

/// The main series of a measurement: "time", else "t_iter", else "compute". nullptr if it has none.
const std::pair<const std::string, Series>* main_series(const Measurement& measurement);

/// The samples of a series on the first rank, such as one value for each level; empty without it.
std::vector<double> values_of(const Measurement& measurement, const std::string& series);

/// Whether the samples suffice for a 95 % interval of the median: 6 (core/base/statistics.hpp).
bool has_interval(const Summary& summary);
/// "±1.5 %"; "-" without an interval.
std::string interval_text(const Summary& summary);

/// Remarks about measurements (reasons for a status, warnings), each text once with its number of
/// cells, most frequent first. Beyond `most` lines only counts the rest.
std::vector<std::string> remarks(std::span<const Measurement> measurements, std::size_t most);

}  // namespace dlscale::report
