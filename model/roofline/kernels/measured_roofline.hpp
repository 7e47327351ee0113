#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "model/roofline/kernels/ceilings.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// A bandwidth measured over one working set.
struct MeasuredBandwidth {
  Bytes working_set;
  BytesPerSecond bandwidth;
  std::string pass = {};  ///< kind of pass, "copy" or "triad": kinds differ in speed
};

/// Working sets of at least this many times the last-level cache are in memory, as STREAM requires
/// of its arrays [J. McCalpin, STREAM run rules].
inline constexpr double sets_beyond_a_cache = 4;
/// Names of the last level: memory, and the level that stands in for it.
inline constexpr const char* memory_name = "memory";
inline constexpr const char* farthest_name = "farthest measured";

/// Levels from measured bandwidths, nearest first. The curve has the highest bandwidth at each
/// working set, without single points above or below both neighbours. A level is a stretch over
/// which the curve stays within `tolerance` of its first point (the plateaus of the Empirical
/// Roofline Toolkit). A stretch must span a factor of two in working set, or it is the fall between
/// two plateaus. Bandwidths that grow with the working set (start-up of short passes) belong to the
/// next level.
///
/// The bandwidth of a level is the median over its stretch of one kind of pass, the kind with the
/// highest median. At each set the fastest row of that kind counts: rows may lie a little above the
/// level.
///
/// Memory, named memory_name, covers working sets of at least sets_beyond_a_cache times
/// `last_cache`, however few they are. If the cache is not known, or no set is that large, the last
/// stretch stands in for memory, named farthest_name. A part of it may come from a cache. Throws
/// ConfigError if nothing was measured.
std::vector<MemoryLevel> levels_of(const std::vector<MeasuredBandwidth>& measured,
                                   std::optional<Bytes> last_cache = {}, double tolerance = 0.2);

/// The key in a result file's header of the last-level cache that the run found, for example
/// "33554432 B".
inline constexpr std::string_view last_level_cache_fact = "last_level_cache";

/// The ceilings that `threads` threads of a rank alone on the processor reached. Levels come from
/// bench memory (copy, scale, add, triad): levels_of(). The last is memory if a file states the
/// size of the last cache, or if its sweep ends at four times it. The peak is the highest rate of
/// operations of bench peak and bench gemm; without bench peak the algorithms among `samples` also
/// count. Lower ceilings are those of other instruction sets, of products and of convolutions, up
/// to the peak. Where bench peak swept intensities, each counts for both, as in the Empirical
/// Roofline Toolkit. The peak is the highest rate at any intensity. A level's bandwidth may come
/// from passes in place, the highest at each size.   [Empirical Roofline Tool] Throws ConfigError
/// that says what to measure where a ceiling is missing. A precision other than f32 takes its own
/// arithmetic and the same bandwidths; `samples`, which are f32, do not count.
HierarchicalRoofline measured_roofline(std::span<const ResultFile> results,
                                       std::span<const KernelSample> samples, int threads,
                                       DType dtype = DType::f32);

/// Q_l of HierarchicalRoofline: the bytes that an algorithm moves between level l and the next
/// nearer one (for the nearest, the core). A stage's bytes cross all levels up to the one that
/// holds its working set. Bytes that are not in the caches yet cross all levels at least once:
/// `tensors`, least_bytes() unless the caches are hot. The result has one value a level, in order.
std::vector<Bytes> traffic_of(const HierarchicalRoofline& roofline,
                              const convolution::AlgorithmWork& work, Bytes tensors);

/// Whether the ceilings bound a kernel with that value of the axis "cache". Bench memory measures
/// bytes that lie in no cache ("cold", "rotating") or where earlier passes have left them ("hot").
/// With "producer" the step before has just written some of the bytes, which may come from a cache
/// that does not hold all of them. Their share is not known, so that no ceiling is right.
bool is_bounded(std::string_view cache);

/// The least time that the ceilings allow a kernel if only its total work is known:
///   t ≥ max( F/π, Q/β )
/// β is the bandwidth of the last level where the bytes are in no cache yet ("cold", "rotating").
/// Otherwise it is that of the level that holds that many bytes. Requires is_bounded(cache).
Seconds least_time(const HierarchicalRoofline& roofline, const Work& work, std::string_view cache);

/// A convolution measured on a processor under its rooflines.
struct PlacedKernel {
  const KernelSample* sample;
  FlopsPerByte intensity;    ///< by the bytes of its algorithm
  FlopsPerSecond executed;   ///< operations of its algorithm / time
  FlopsPerSecond effective;  ///< operations of the direct method / time; may exceed the peak
  /// The least time that the ceilings allow the algorithm: Σ over stages max( F/π, Q/β ), with the
  /// β of the level that holds the stage's working set. It is the time-based roofline of stages one
  /// after the other. It is at least overlapped_bound, which counts tensors that lie in no cache
  /// yet.
  Seconds bound;
  /// The bound of the hierarchical roofline, as if all stages overlapped: max( F/π, Q_l/β_l ).
  Seconds overlapped_bound;
  /// Index of the farthest level whose cache-aware roof is above `executed`.
  std::size_t source;
  bool bound_by_memory;  ///< more than half of `bound`
  /// Whether its work is nominal. The bounds are those of the algorithm stage by stage over the
  /// whole batch; an implementation by smaller blocks may take less.
  [[nodiscard]] bool is_nominal() const { return sample->what.way.is_nominal(); }
  /// Share of the measured roofline; 1 is on it. Empty for nominal work, whose least time is not
  /// known.
  [[nodiscard]] std::optional<double> share() const {
    if (is_nominal()) return std::nullopt;
    return bound / sample->time;
  }
};
/// `sample` must outlive the result. Requires is_bounded() of its caches.
PlacedKernel place(const HierarchicalRoofline& roofline, const KernelSample& sample);

}  // namespace dlscale::model
