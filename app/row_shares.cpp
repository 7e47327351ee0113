#include "app/row_shares.hpp"

#include <algorithm>
#include <span>

#include "app/result_files.hpp"
#include "core/error.hpp"
#include "core/lowering/method.hpp"
#include "core/step.hpp"
#include "core/usable_rows.hpp"
#include "model/roofline/kernel_sample.hpp"
#include "model/roofline/measured_roofline.hpp"
#include "report/kernel_study.hpp"

namespace dlscale::app {
namespace {

model::HierarchicalRoofline read_roofline(const ShareOptions& options) {
  const std::vector<ResultFile> files =
      results_of(options.ceilings, {"conv", "memory", "gemm", "peak"});
  if (!files.empty()) report::processor_of(files);
  const bool has_convolutions = std::ranges::any_of(
      files, [](const ResultFile& file) { return file.header.benchmark == "conv"; });
  model::LeftOut left_out;
  std::vector<model::KernelSample> samples;
  if (has_convolutions) samples = model::kernel_samples(files, left_out);
  return model::measured_roofline(files, samples, options.threads);
}

bool is_convolution(const Measurement& measurement) {
  const auto kernel = measurement.axes.find("kernel");
  return kernel != measurement.axes.end() && kernel->second.starts_with("convolution ") &&
         measurement.axis("pass") != pass_name(Pass::accumulate);
}

/// What was computed is known: of a convolution by an algorithm that is not, what was asked for
/// may be several times as much.
bool is_known(const Measurement& measurement) {
  return measurement.algorithmic_work || !is_convolution(measurement);
}

}  // namespace

RowShares::RowShares(const ShareOptions& options) {
  if (!options.cluster.empty()) {
    for (const auto& [dtype, peak] : load_cluster(options.cluster).device.peak) {
      peaks_.emplace(dtype_name(dtype), peak);
    }
  }
  if (!options.ceilings.empty()) {
    roofline_ = std::make_unique<const model::HierarchicalRoofline>(read_roofline(options));
  }
}

/// The stages of an algorithm are the same whatever the values and the ranks beside it.
Seconds RowShares::least_time(const Measurement& measurement) const {
  if (!is_convolution(measurement)) {
    return roofline_->time_based(*measurement.work, measurement.work->bytes);
  }
  ResultFile alone;
  alone.measurements = {measurement};
  alone.measurements.front().axes.erase("values");
  alone.measurements.front().axes["ranks_on_node"] = std::string("1");
  model::LeftOut left_out;
  const auto samples = model::kernel_samples(std::span(&alone, 1), left_out);
  return model::place(*roofline_, samples.front()).bound;
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
  const bool keeps_filters = lowering::with_kept_filters(measurement.implementation).has_value();
  if (roofline_ && dtype == dtype_name(DType::f32) && !model::on_device(measurement) &&
      !keeps_filters) {
    measurement.share_of_roofline = least_time(measurement) / median;
  }
}

}  // namespace dlscale::app
