#pragma once
#include <optional>
#include <string>

#include "core/measurement.hpp"
#include "core/units.hpp"

namespace dlscale::report {

/// Rates that follow from a measurement's median time and declared work; absent where there is no
/// time or no such work.
struct Rates {
  std::optional<FlopsPerSecond> flops;
  std::optional<FlopsPerSecond> algorithmic;  ///< by the operations that the algorithm executes
  std::optional<BytesPerSecond> bytes;
  std::optional<BytesPerSecond> algbw;  ///< of collectives: size of the message / time
  /// algbw · 2(n-1)/n for all-reduce on n ranks [nccl-tests doc/PERFORMANCE.md]: what each link
  /// carries if the library uses a ring. Other algorithms move other amounts.
  std::optional<BytesPerSecond> busbw;
};
Rates rates(const Measurement& measurement);

/// Whether it has a time: ok, or unstable.
bool usable(const Measurement& measurement);

/// The series a measurement is about: "time", else "t_iter", else "compute", else the first.
/// nullptr if it has none.
const std::pair<const std::string, Series>* main_series(const Measurement& measurement);

}  // namespace dlscale::report
