#pragma once
#include <span>
#include <vector>

#include "core/measurement.hpp"
#include "model/roofline/ceilings.hpp"
#include "model/roofline/kernel_sample.hpp"

namespace dlscale::model {

/// The ceilings that `threads` threads of a rank alone reached: the levels of bench memory (copy,
/// scale, add, triad), and as peak the highest rate of operations really executed, of bench gemm or
/// of the algorithms among `samples`. Throws ConfigError that says what to measure where one is
/// missing.
HierarchicalRoofline measured_roofline(std::span<const ResultFile> results,
                                       std::span<const KernelSample> samples, int threads);

/// A measured convolution under the rooflines.
struct PlacedKernel {
  const KernelSample* sample;
  FlopsPerByte intensity;    ///< of its algorithm
  FlopsPerSecond executed;   ///< operations of its algorithm over time
  FlopsPerSecond effective;  ///< MODEL 4.1 over time; may exceed the peak
  /// The least time that the ceilings allow the algorithm, Σ over stages max( F/π, Q/β ), β of the
  /// level that holds what the stage works on.
  Seconds bound;
  bool bound_by_memory;  ///< more than half of that time
  /// Share of the measured roofline: 1 is on it.
  [[nodiscard]] double share() const { return bound / sample->time; }
};
/// `sample` must outlive the result.
PlacedKernel place(const HierarchicalRoofline& roofline, const KernelSample& sample);

}  // namespace dlscale::model
