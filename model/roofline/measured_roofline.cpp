#include "model/roofline/measured_roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"

namespace dlscale::model {
namespace {

bool has(const Measurement& measurement, const std::string& axis, const std::string& value) {
  const auto found = measurement.axes.find(axis);
  return found != measurement.axes.end() && found->second == value;
}

/// Rows with a time of a rank alone with these threads, and declared work.
template <class Visit>
void for_each_row(std::span<const ResultFile> results, std::string_view benchmark, int threads,
                  const Visit& visit) {
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      const auto time = measurement.series.find("time");
      const bool usable = measurement.benchmark == benchmark && measurement.work &&
                          time != measurement.series.end() && time->second.summary.median > 0 &&
                          has(measurement, "threads", std::to_string(threads)) &&
                          has(measurement, "ranks_on_node", "1");
      if (usable) visit(measurement, Seconds(time->second.summary.median));
    }
  }
}

}  // namespace

HierarchicalRoofline measured_roofline(std::span<const ResultFile> results,
                                       std::span<const KernelSample> samples, int threads) {
  constexpr std::array passes{"copy", "scale", "add", "triad"};
  FlopsPerSecond peak;
  for (const KernelSample& sample : samples) {
    if (sample.what.way.threads != threads) continue;
    peak = std::max(peak, sample.what.work.flops() / sample.time);
  }
  for_each_row(results, "gemm", threads, [&](const Measurement& measurement, Seconds time) {
    if (!has(measurement, "dtype", std::string(dtype_name(DType::f32)))) return;
    peak = std::max(peak, measurement.work->flops / time);
  });
  std::vector<MeasuredBandwidth> measured;
  for_each_row(results, "memory", threads, [&](const Measurement& measurement, Seconds time) {
    const bool is_pass = std::ranges::any_of(
        passes, [&](const char* operation) { return has(measurement, "operation", operation); });
    const Bytes bytes = measurement.work->bytes;
    if (is_pass) measured.push_back({bytes, bytes / time});
  });
  if (measured.empty() || peak.si() <= 0) {
    throw ConfigError(fmt::format(
        "the results hold no {} with --threads {} on a rank alone, so that the roofline is "
        "unknown. "
        "Measure it on the same machine: dlscale bench {} --threads {}, and give both results.",
        measured.empty() ? "passes over memory" : "convolutions", threads,
        measured.empty() ? "memory" : "conv", threads));
  }
  return {peak, levels_of(std::move(measured))};
}

PlacedKernel place(const HierarchicalRoofline& roofline, const KernelSample& sample) {
  const lowering::AlgorithmWork& work = sample.what.work;
  Seconds bound;
  Seconds of_memory;
  for (const lowering::Stage& stage : work.stages) {
    const Seconds time = roofline.time_based({stage.flops, stage.bytes}, stage.working_set);
    bound += time;
    if (time > stage.flops / roofline.peak()) of_memory += time;
  }
  return {.sample = &sample,
          .intensity = work.intensity(),
          .executed = work.flops() / sample.time,
          .effective = direct_flops(sample.what.shape) / sample.time,
          .bound = bound,
          .bound_by_memory = of_memory > 0.5 * bound};
}

}  // namespace dlscale::model
