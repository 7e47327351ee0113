#include "app/measure/row_shares.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "app/measure/result_files.hpp"
#include "core/base/error.hpp"
#include "core/base/fnv1a.hpp"
#include "core/convolution/method.hpp"
#include "core/network/step.hpp"
#include "core/results/usable_rows.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/kernels/kernel_study.hpp"

namespace dlscale::app {
namespace {

std::vector<ResultFile> read_ceilings(const ShareOptions& options) {
  std::vector<ResultFile> files = results_of(options.ceilings, {"conv", "memory", "gemm", "peak"});
  if (!files.empty()) report::processor_of(files);
  return files;
}

model::HierarchicalRoofline roofline_of(std::span<const ResultFile> files, int threads) {
  const bool has_convolutions = std::ranges::any_of(
      files, [](const ResultFile& file) { return file.header.benchmark == "conv"; });
  model::LeftOut left_out;
  std::vector<model::KernelSample> samples;
  if (has_convolutions) samples = model::kernel_samples(files, left_out);
  return model::measured_roofline(files, samples, threads);
}

/// The roofline of a precision; nothing if the results have no arithmetic in it.
std::optional<model::HierarchicalRoofline> roofline_in(DType dtype,
                                                       std::span<const ResultFile> files,
                                                       int threads) {
  try {
    return model::measured_roofline(files, {}, threads, dtype);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

std::string text_of(const model::HierarchicalRoofline& roofline) {
  std::string text =
      fmt::format("peak {} launch {}\n", roofline.peak().si(), roofline.least_flops().si());
  for (const model::MemoryLevel& level : roofline.levels()) {
    text += fmt::format("{} {} {}\n", level.name, level.capacity.si(), level.bandwidth.si());
  }
  for (const model::ArithmeticCeiling& ceiling : roofline.ceilings()) {
    text += fmt::format("{} {}\n", ceiling.name, ceiling.rate.si());
  }
  return text;
}

bool is_convolution(const Measurement& measurement) {
  const auto kernel = measurement.axes.find("kernel");
  return kernel != measurement.axes.end() && kernel->second.starts_with("convolution ") &&
         measurement.axis("pass") != pass_name(Pass::accumulate);
}

/// Whether it is a convolution whose stages are known only as the papers describe them.
bool is_nominal(const Measurement& measurement) {
  const auto method = convolution::method_of(measurement.implementation);
  return is_convolution(measurement) && method &&
         convolution::is_nominal(*method, convolution::blocking_of(measurement.axis("backend")));
}

/// Whether the ceilings of the processor bound it, and its work is known.
bool is_bounded(const Measurement& measurement) {
  const bool keeps_filters = convolution::with_kept_filters(measurement.implementation).has_value();
  return !model::on_device(measurement) && !keeps_filters &&
         model::is_bounded(measurement.axis("cache")) && !is_nominal(measurement);
}

/// Whether the executed work is known. An unknown convolution algorithm may compute only a fraction
/// of the requested work.
bool is_known(const Measurement& measurement) {
  return measurement.algorithmic_work || !is_convolution(measurement);
}

}  // namespace

RowShares::RowShares(const ShareOptions& options) {
  if (!options.cluster.empty()) {
    sheet_ = load_cluster(options.cluster).device;
    for (const auto& [dtype, peak] : sheet_->peak) peaks_.emplace(dtype_name(dtype), peak);
  }
  if (!options.ceilings.empty()) {
    const std::vector<ResultFile> files = read_ceilings(options);
    rooflines_.emplace(dtype_name(DType::f32), roofline_of(files, options.threads));
    for (const DType dtype : {DType::bf16, DType::f16}) {
      const auto roofline = roofline_in(dtype, files, options.threads);
      if (roofline) rooflines_.emplace(dtype_name(dtype), *roofline);
    }
    measured_on_ = files.front().header.environment;
  }
}

void RowShares::expect_measured_here() const {
  if (rooflines_.empty()) return;
  const Environment here = capture_environment();
  const bool same_processor = measured_on_.cpu == here.cpu;
  if (same_processor && measured_on_.host_hash == here.host_hash) return;
  throw ConfigError(
      fmt::format("the results that --ceilings names were measured on {}, so that the rows would "
                  "have shares of another machine's roofline. Measure the ceilings here, or leave "
                  "out --ceilings.",
                  same_processor ? "another host of the same processor"
                                 : fmt::format("{}, and this is {}", measured_on_.cpu, here.cpu)));
}

std::string RowShares::doubt(backend::DataPlace place) const {
  const DeviceKind ran = place == backend::DataPlace::device ? DeviceKind::gpu : DeviceKind::cpu;
  if (!sheet_ || sheet_->kind == ran) return "";
  return fmt::format(
      "--cluster has the data sheet of {} ({}), and the rows are of {}: their share_of_peak "
      "compares them with it, and does not tell how well they use what they run on",
      sheet_->kind == DeviceKind::gpu ? "a GPU" : "a processor", sheet_->name,
      ran == DeviceKind::gpu ? "a GPU" : "a processor");
}

std::string RowShares::hash() const {
  std::string text;
  for (const auto& [dtype, roofline] : rooflines_) text += dtype + " " + text_of(roofline);
  for (const auto& [dtype, peak] : peaks_) text += fmt::format("{} {}\n", dtype, peak.si());
  return fmt::format("{:016x}", fnv1a(text));
}

/// The stages of an algorithm do not depend on values, layout or other ranks on the node.
Seconds RowShares::least_time(const Measurement& measurement) const {
  const std::string& dtype = measurement.axis("dtype");
  const model::HierarchicalRoofline& roofline = rooflines_.at(dtype);
  if (!is_convolution(measurement)) {
    return model::least_time(roofline, *measurement.work, measurement.axis("cache"));
  }
  if (dtype != dtype_name(DType::f32)) {  // only algorithms with one stage are known there
    return model::least_time(roofline, *measurement.algorithmic_work, measurement.axis("cache"));
  }
  ResultFile alone;
  alone.measurements = {measurement};
  alone.measurements.front().axes.erase("values");
  alone.measurements.front().axes["ranks_on_node"] = std::string("1");
  alone.measurements.front().axes.erase("layout");
  model::LeftOut left_out;
  const auto samples = model::kernel_samples(std::span(&alone, 1), left_out);
  return model::place(roofline, samples.front()).bound;
}

void RowShares::add(Measurement& measurement) const {
  const auto time = measurement.series.find("time");
  if (!is_timed(measurement) || time == measurement.series.end() || !measurement.work) return;
  const Seconds median(time->second.summary.median);
  if (median <= Seconds(0) || !is_known(measurement)) return;
  const std::string& dtype = measurement.axis("dtype");
  if (const auto peak = peaks_.find(dtype); peak != peaks_.end()) {
    const Work executed = measurement.algorithmic_work.value_or(*measurement.work);
    measurement.share_of_peak = executed.flops / median / peak->second;
  }
  if (rooflines_.contains(dtype) && is_bounded(measurement)) {
    measurement.share_of_roofline = least_time(measurement) / median;
  }
}

}  // namespace dlscale::app
