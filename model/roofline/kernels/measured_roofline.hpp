#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// Of a result file's header, what its run found: the last-level cache, such as "33554432 B".
inline constexpr std::string_view last_level_cache_fact = "last_level_cache";

/// The ceilings that `threads` threads of a rank alone on the processor reached in f32: the levels
/// of bench memory (copy, scale, add, triad; memory behind the caches if a file says how large the
/// last one is, or swept to four times it: levels_of()), and as peak the highest rate of operations
/// of bench peak and bench gemm; without bench peak the algorithms among `samples` count, too.
/// Below stand the ceilings of other instruction sets, and of products and convolutions, up to the
/// peak. Where bench peak swept intensities, each counts for both, as in the Empirical Roofline
/// Toolkit: the peak is the highest rate of operations at any intensity, and a level's bandwidth
/// may be that of passes in place, the highest at each size.   [MODEL 5, ERT] Throws ConfigError
/// that says what to measure where one is missing. In another precision: its arithmetic, the same
/// bandwidths; `samples`, which are of f32, say nothing of it.
HierarchicalRoofline measured_roofline(std::span<const ResultFile> results,
                                       std::span<const KernelSample> samples, int threads,
                                       DType dtype = DType::f32);

/// Q_l of MODEL 5.2: bytes that an algorithm moves between level l and the next nearer one (of the
/// nearest, the core). A stage's bytes cross all levels up to the one that holds what it works on;
/// all are crossed at least once by what does not lie in the caches yet: `tensors`, least_bytes()
/// unless the caches are hot. One a level, in order.
std::vector<Bytes> traffic_of(const HierarchicalRoofline& roofline,
                              const lowering::AlgorithmWork& work, Bytes tensors);

/// Whether the ceilings bound what ran in that state of the caches (`cache`, as the axis of that
/// name has it). Passes over memory are measured over bytes that lie in no cache ("cold",
/// "rotating") or where the passes before have left them ("hot"). Of "producer" the step before has
/// just written some of the bytes, and those may come from a cache that holds not all of them:
/// their share is not told, so that no ceiling is right.
bool is_bounded(std::string_view cache);

/// The least time that the ceilings allow a kernel of which the work as a whole is all that is
/// known:
///   t ≥ max( F/π, Q/β )   [MODEL 5.2]
/// with the β of the last level where the bytes lie in no cache yet ("cold", "rotating"), else of
/// the level that holds so many. Requires is_bounded(cache).
Seconds least_time(const HierarchicalRoofline& roofline, const Work& work, std::string_view cache);

/// A convolution measured on a processor under its rooflines.
struct PlacedKernel {
  const KernelSample* sample;
  FlopsPerByte intensity;    ///< of its algorithm
  FlopsPerSecond executed;   ///< operations of its algorithm over time
  FlopsPerSecond effective;  ///< MODEL 4.1 over time; may exceed the peak
  /// The least time that the ceilings allow the algorithm, Σ over stages max( F/π, Q/β ), β of the
  /// level that holds what the stage works on: the time-based roofline, of stages one after the
  /// other; but at least overlapped_bound, which counts tensors that lie in no cache yet.
  Seconds bound;
  /// The same of the hierarchical roofline, as if all stages overlapped: max( F/π, Q_l/β_l ).
  Seconds overlapped_bound;
  /// Of the cache-aware roofline: the farthest level whose roof is above `executed`.
  std::size_t source;
  bool bound_by_memory;  ///< more than half of `bound`
  /// Whether its work is nominal: the bounds are those of the algorithm stage by stage over the
  /// whole batch, and what goes through it in smaller blocks may take less.
  [[nodiscard]] bool is_nominal() const { return sample->what.way.is_nominal(); }
  /// Share of the measured roofline: 1 is on it. Nothing of nominal work, whose least time is not
  /// known.
  [[nodiscard]] std::optional<double> share() const {
    if (is_nominal()) return std::nullopt;
    return bound / sample->time;
  }
};
/// `sample` must outlive the result. Requires is_bounded() of its caches.
PlacedKernel place(const HierarchicalRoofline& roofline, const KernelSample& sample);

}  // namespace dlscale::model
