#include "model/roofline/kernels/measured_roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::model {
namespace {

/// Bandwidths in B/s by working set in bytes.
using Curve = std::map<double, double>;

Curve highest_at_each_set(std::span<const MeasuredBandwidth> measured) {
  Curve highest;
  for (const MeasuredBandwidth& point : measured) {
    double& best = highest[point.working_set.si()];
    best = std::max(best, point.bandwidth.si());
  }
  return highest;
}

/// The median of a point and its two neighbours; at an end of the curve, of the three points there.
double median_of_three(const Curve& curve, Curve::const_iterator point) {
  auto first = point == curve.begin() ? point : std::prev(point);
  if (std::next(point) == curve.end()) first = std::prev(first);
  std::array<double, 3> window{};
  std::transform(first, std::next(first, 3), window.begin(),
                 [](const auto& near) { return near.second; });
  std::ranges::sort(window);
  return window[1];
}

/// Removes single sets that were slow or fast by chance. Dips are filled first, so that their
/// neighbours are not taken for peaks; then peaks come down to the higher neighbour.
Curve without_outliers(const Curve& curve) {
  if (curve.size() < 3) return curve;
  Curve filled = curve;
  for (auto point = std::next(curve.begin()); point != std::prev(curve.end()); ++point) {
    filled[point->first] = std::max(point->second, median_of_three(curve, point));
  }
  Curve smooth = filled;
  for (auto point = filled.cbegin(); point != filled.cend(); ++point) {
    smooth[point->first] = std::min(point->second, median_of_three(filled, point));
  }
  return smooth;
}

/// A smaller working set reaches at least the bandwidth of a larger one.
void raise_to_larger_sets(Curve& curve) {
  double reached = 0;
  for (auto point = curve.rbegin(); point != curve.rend(); ++point) {
    reached = point->second = std::max(point->second, reached);
  }
}

/// The lower median: of two values, the one that was fast by chance does not count.
double lower_median(const Curve& curve) {
  std::vector<double> values;
  for (const auto& [set, bandwidth] : curve) values.push_back(bandwidth);
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// The median of the best kind of pass over the working sets of a stretch. A kind that ran at fewer
/// than half as many sets as another does not count.
BytesPerSecond sustained(std::span<const MeasuredBandwidth> measured, double from, double to) {
  std::map<std::string, std::vector<MeasuredBandwidth>> passes;
  for (const MeasuredBandwidth& point : measured) {
    const double set = point.working_set.si();
    if (from <= set && set <= to) passes[point.pass].push_back(point);
  }
  std::vector<Curve> curves;
  std::size_t most = 0;
  for (const auto& [pass, points] : passes) {
    curves.push_back(highest_at_each_set(points));
    most = std::max(most, curves.back().size());
  }
  double best = 0;
  for (const Curve& curve : curves) {
    if (2 * curve.size() >= most) best = std::max(best, lower_median(curve));
  }
  return BytesPerSecond(best);
}

struct Stretch {
  double first;  ///< working set in bytes
  double last;
};

/// The stretches over which the curve stays within `tolerance` of their first point, in order.
std::vector<Stretch> stretches_of(const Curve& curve, double tolerance) {
  std::vector<Stretch> stretches;
  for (auto first = curve.begin(); first != curve.end();) {
    const auto end = std::find_if(first, curve.end(), [&](const auto& point) {
      return point.second < (1 - tolerance) * first->second;
    });
    stretches.push_back({first->first, std::prev(end)->first});
    first = end;
  }
  return stretches;
}

/// Merges a level that is not faster than the next into the next.
void merge_slower_into_next(std::vector<MemoryLevel>& levels) {
  for (std::size_t i = levels.size(); i-- > 1;) {
    if (levels[i - 1].bandwidth <= levels[i].bandwidth) {
      levels.erase(levels.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }
}

/// The stretch of the curve that is memory, and the last cache before it.
struct Memory {
  Stretch stretch;
  double cache;  ///< bytes
};

/// Returns nothing if the size of the last cache is not known.
std::optional<Memory> memory_of(const Curve& curve, std::optional<Bytes> last_cache) {
  if (!last_cache) return std::nullopt;
  const auto first = curve.lower_bound(sets_beyond_a_cache * last_cache->si());
  if (first == curve.end()) return std::nullopt;
  return Memory{{first->first, curve.rbegin()->first}, last_cache->si()};
}

MemoryLevel level_over(const Stretch& stretch, std::span<const MeasuredBandwidth> measured,
                       std::string name) {
  return {std::move(name), Bytes(stretch.last), sustained(measured, stretch.first, stretch.last)};
}

bool has(const Measurement& measurement, const std::string& axis, const std::string& value) {
  const auto found = measurement.axes.find(axis);
  return found != measurement.axes.end() && found->second == value;
}

bool is_in(const Measurement& measurement, DType dtype) {
  return has(measurement, "dtype", std::string(dtype_name(dtype)));
}

/// Whether a row of bench peak is arithmetic over an array.
bool is_intensity(const Measurement& measurement) {
  return has(measurement, "operation", "intensity");
}

/// Visits rows of a rank alone with these threads on the processor, with a time and declared work.
template <class Visit>
void for_each_row(std::span<const ResultFile> results, std::string_view benchmark, int threads,
                  const Visit& visit) {
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      const auto time = measurement.series.find("time");
      const bool usable = measurement.benchmark == benchmark && is_timed(measurement) &&
                          measurement.work && time != measurement.series.end() &&
                          time->second.summary.median > 0 &&
                          has(measurement, "threads", std::to_string(threads)) &&
                          has(measurement, "ranks_on_node", "1") && !on_device(measurement);
      if (usable) visit(measurement, Seconds(time->second.summary.median));
    }
  }
}

/// The fastest arithmetic of each instruction set: chains of multiply-adds in registers, and
/// arithmetic between the load and the store of every element of an array.
std::map<std::string, FlopsPerSecond> fastest_arithmetic(std::span<const ResultFile> results,
                                                         int threads, DType dtype) {
  std::map<std::string, FlopsPerSecond> fastest;
  for_each_row(results, "peak", threads, [&](const Measurement& measurement, Seconds time) {
    const auto isa = measurement.axes.find("isa");
    const bool counts = (has(measurement, "operation", "fma") || is_intensity(measurement)) &&
                        is_in(measurement, dtype);
    if (!counts || isa == measurement.axes.end()) return;
    FlopsPerSecond& rate = fastest[isa->second];
    rate = std::max(rate, measurement.work->flops / time);
  });
  return fastest;
}

FlopsPerSecond fastest_convolution(std::span<const KernelSample> samples, int threads) {
  FlopsPerSecond fastest;
  for (const KernelSample& sample : samples) {
    if (sample.what.way.threads != threads || sample.what.way.on_device()) continue;
    fastest = std::max(fastest, sample.what.work.flops() / sample.time);
  }
  return fastest;
}

FlopsPerSecond fastest_product(std::span<const ResultFile> results, int threads, DType dtype) {
  FlopsPerSecond fastest;
  for_each_row(results, "gemm", threads, [&](const Measurement& measurement, Seconds time) {
    if (is_in(measurement, dtype)) fastest = std::max(fastest, measurement.work->flops / time);
  });
  return fastest;
}

/// The pass over arrays that a row of bench memory measures; empty for other rows.
std::optional<std::string> pass_of(const Measurement& measurement) {
  constexpr std::array passes{"copy", "scale", "add", "triad"};
  const auto found = std::ranges::find_if(
      passes, [&](const char* operation) { return has(measurement, "operation", operation); });
  return found == passes.end() ? std::nullopt : std::optional<std::string>(*found);
}

std::vector<MeasuredBandwidth> bandwidths(std::span<const ResultFile> results, int threads) {
  std::vector<MeasuredBandwidth> measured;
  for_each_row(results, "memory", threads, [&](const Measurement& measurement, Seconds time) {
    const Bytes bytes = measurement.work->bytes;
    if (const auto pass = pass_of(measurement)) measured.push_back({bytes, bytes / time, *pass});
  });
  for_each_row(results, "peak", threads, [&](const Measurement& measurement, Seconds time) {
    if (!is_intensity(measurement)) return;
    const Bytes bytes = measurement.work->bytes;  // every element is loaded and stored
    measured.push_back({0.5 * bytes, bytes / time, "in place"});
  });
  return measured;
}

/// Files of earlier versions do not state the cache, but the arrays of a full sweep end at four
/// times it.
std::optional<Bytes> cache_of_sweep(const ResultFile& file) {
  const auto sizes = file.header.run.find("sizes");
  if (!file.complete || sizes == file.header.run.end() || sizes->second != "sweep") return {};
  Bytes largest;
  for (const Measurement& measurement : file.measurements) {
    if (!pass_of(measurement)) continue;
    const std::string where = fmt::format("{}: bytes of a row", file.path.string());
    largest = std::max(largest, parse_quantity<Bytes>(measurement.axis("bytes") + " B", where));
  }
  return largest > Bytes(0) ? std::optional(0.25 * largest) : std::nullopt;
}

/// The last-level cache of the machine, the largest that a file with passes over memory states.
/// Empty if none states it.
std::optional<Bytes> last_level_cache(std::span<const ResultFile> results) {
  std::optional<Bytes> largest;
  for (const ResultFile& file : results) {
    if (file.header.benchmark != "memory") continue;
    const auto told = file.header.run.find(std::string(last_level_cache_fact));
    const std::string where = fmt::format("{}: {}", file.path.string(), last_level_cache_fact);
    const std::optional<Bytes> cache =
        told == file.header.run.end() ? cache_of_sweep(file)
                                      : std::optional(parse_quantity<Bytes>(told->second, where));
    if (cache) largest = std::max(largest.value_or(Bytes()), *cache);
  }
  return largest;
}

/// Ceilings of arithmetic; the highest is the peak. Operations of bench peak and of products are
/// counted exactly. Those of convolutions follow from their algorithm, so they do not raise a peak
/// of bench peak.
std::vector<ArithmeticCeiling> arithmetic(std::span<const ResultFile> results,
                                          std::span<const KernelSample> samples, int threads,
                                          DType dtype) {
  std::vector<ArithmeticCeiling> ceilings;
  for (const auto& [isa, rate] : fastest_arithmetic(results, threads, dtype)) {
    ceilings.push_back({isa, rate});
  }
  FlopsPerSecond kernel = fastest_product(results, threads, dtype);
  if (dtype == DType::f32) {
    FlopsPerSecond convolution = fastest_convolution(samples, threads);
    if (!ceilings.empty()) {
      const auto best = std::ranges::max_element(ceilings, {}, &ArithmeticCeiling::rate);
      convolution = std::min(convolution, best->rate);
    }
    kernel = std::max(kernel, convolution);
  }
  if (kernel.si() > 0) ceilings.push_back({"products and convolutions", kernel});
  std::ranges::stable_sort(ceilings, std::greater{}, &ArithmeticCeiling::rate);
  return ceilings;
}

/// The error for a missing ceiling of memory, or of arithmetic.
RemediableError missing(bool of_memory, int threads, DType dtype) {
  const std::string type(dtype_name(dtype));
  Remedy remedy{.subject = of_memory ? "memory" : "peak"};
  if (!of_memory) remedy.axes.emplace_back("dtype", type);
  remedy.axes.emplace_back("threads", std::to_string(threads));
  return {
      fmt::format("the results hold no {} with {} threads on a rank alone, so that the roofline "
                  "is unknown. Measure {} with as many threads on the same machine, and give "
                  "both results.",
                  of_memory ? "passes over memory" : "arithmetic in " + type, threads,
                  of_memory ? "the memory" : "a peak of " + type),
      std::move(remedy)};
}

}  // namespace

std::vector<MemoryLevel> levels_of(const std::vector<MeasuredBandwidth>& measured,
                                   std::optional<Bytes> last_cache, double tolerance) {
  if (measured.empty()) {
    throw RemediableError(
        "no bandwidth was measured over a range of working sets, so that the levels of the memory "
        "are unknown. Measure them.",
        {.subject = "memory"});
  }
  const Curve highest = highest_at_each_set(measured);
  Curve curve = without_outliers(highest);
  raise_to_larger_sets(curve);
  const std::optional<Memory> memory = memory_of(highest, last_cache);
  if (memory) curve.erase(curve.find(memory->stretch.first), curve.end());
  std::vector<Stretch> stretches = stretches_of(curve, tolerance);
  const Stretch last = memory ? memory->stretch : stretches.back();
  if (!memory) stretches.pop_back();

  std::vector<MemoryLevel> levels;
  for (const Stretch& stretch : stretches) {
    const bool is_plateau = stretch.last >= 2 * stretch.first;
    const bool is_behind = memory && stretch.first > memory->cache;
    if (is_plateau && !is_behind) levels.push_back(level_over(stretch, measured, "cache"));
  }
  levels.push_back(level_over(last, measured, memory ? memory_name : farthest_name));
  merge_slower_into_next(levels);
  for (std::size_t i = 0; i + 1 < levels.size(); ++i) {
    levels[i].name = fmt::format("level {}", i + 1);
  }
  return levels;
}

HierarchicalRoofline measured_roofline(std::span<const ResultFile> results,
                                       std::span<const KernelSample> samples, int threads,
                                       DType dtype) {
  std::vector<ArithmeticCeiling> ceilings = arithmetic(results, samples, threads, dtype);
  const std::vector<MeasuredBandwidth> measured = bandwidths(results, threads);
  if (measured.empty() || ceilings.empty()) throw missing(measured.empty(), threads, dtype);
  const FlopsPerSecond peak = ceilings.front().rate;
  ceilings.erase(ceilings.begin());
  return {peak, levels_of(measured, last_level_cache(results)), {}, std::move(ceilings)};
}

std::vector<Bytes> traffic_of(const HierarchicalRoofline& roofline,
                              const convolution::AlgorithmWork& work, Bytes tensors) {
  std::vector<Bytes> traffic(roofline.levels().size());
  for (const convolution::Stage& stage : work.stages) {
    const std::size_t holds = roofline.level_of(stage.working_set);
    for (std::size_t level = 0; level <= holds; ++level) traffic[level] += stage.bytes;
  }
  for (Bytes& bytes : traffic) bytes = std::max(bytes, tensors);
  return traffic;
}

bool is_bounded(std::string_view cache) {
  return cache != "producer";
}

Seconds least_time(const HierarchicalRoofline& roofline, const Work& work, std::string_view cache) {
  EXPECT(is_bounded(cache));
  const bool in_no_cache = cache == "cold" || cache == "rotating";
  return roofline.time_based(work, in_no_cache ? roofline.levels().back().capacity : work.bytes);
}

PlacedKernel place(const HierarchicalRoofline& roofline, const KernelSample& sample) {
  EXPECT(is_bounded(sample.what.way.cache));
  const convolution::AlgorithmWork& work = sample.what.work;
  Seconds bound;
  Seconds of_memory;
  for (const convolution::Stage& stage : work.stages) {
    const Seconds time = roofline.time_based({stage.flops, stage.bytes}, stage.working_set);
    bound += time;
    if (time > stage.flops / roofline.peak()) of_memory += time;
  }
  const FlopsPerSecond executed = work.flops() / sample.time;
  const Bytes tensors = sample.what.way.cache == "hot" ? Bytes() : least_bytes(sample.what.shape);
  const Seconds overlapped = roofline.time(work.flops(), traffic_of(roofline, work, tensors));
  // A stage alone is bound by arithmetic at least as much as all stages together. The overlapped
  // time can only be longer by bytes that cross more levels than the stages' working sets need.
  const bool brings_tensors = overlapped > bound;
  return {.sample = &sample,
          .intensity = work.intensity(),
          .executed = executed,
          .effective = direct_flops(sample.what.shape) / sample.time,
          .bound = std::max(bound, overlapped),
          .overlapped_bound = overlapped,
          .source = roofline.farthest_source(executed, work.intensity()),
          .bound_by_memory = brings_tensors || of_memory > 0.5 * bound};
}

}  // namespace dlscale::model
