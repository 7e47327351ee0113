#include "model/published/baselines/baselines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

using cases::CasePrediction;
using cases::ScalingCase;

/// Operations for a parameter and a token: a multiply-add in the forward pass and two in the
/// backward pass. [Kaplan et al. 2020, section 2.1]
constexpr double operations_a_parameter = 6;

/// The format of matrix products in a training of that precision; empty if not known.
std::optional<SheetFormat> format_of(std::string_view precision) {
  if (precision == "fp32") return SheetFormat::f32;
  if (precision == "tf32") return SheetFormat::tf32;
  if (precision == "fp16" || precision == "mixed-fp16") return SheetFormat::f16;
  if (precision == "bf16" || precision == "mixed-bf16") return SheetFormat::bf16;
  if (precision == "fp8" || precision == "mxfp8" || precision == "mixed-fp8")
    return SheetFormat::f8;
  return {};
}

std::optional<double> tokens_of_a_sample(const ScalingCase& training) {
  if (training.sample_unit == "token") return 1;
  if (training.sample_unit != "sequence" || !training.network.seq) return {};
  return static_cast<double>(*training.network.seq);
}

CasePrediction predict_cold(const ColdBaseline& baseline, const ScalingCase& training,
                            const DeviceCatalogue& devices) {
  const auto absent = [&](std::string reason) {
    return cases::not_covered(training.id, std::move(reason));
  };
  if (!training.given.empty()) return absent("a measured point is given, which others scale from");
  const auto tokens = tokens_of_a_sample(training);
  if (!tokens) return absent("it does not tell how many tokens a sample has");
  const DeviceSheet* sheet = devices.find(training.cluster.gpu);
  if (sheet == nullptr) {
    return absent(fmt::format("\"{}\" has no data sheet in configs/devices", training.cluster.gpu));
  }
  const auto format = format_of(training.precision);
  const auto peak = format ? sheet->peak.find(*format) : sheet->peak.end();
  if (peak == sheet->peak.end()) {
    return absent(
        fmt::format("the data sheet of {} has no peak in {}", sheet->name, training.precision));
  }
  const auto parameters =
      static_cast<double>(training.network.active_parameters.value_or(training.network.parameters));
  const Flops work(operations_a_parameter * parameters * *tokens * training.global_batch /
                   training.gpus);
  const double time = (work / (baseline.of_peak * peak->second)).si();
  if (!std::isfinite(time) || !(time > 0)) {
    return absent("its figures give no time that an iteration could take");
  }
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.unit = cases::CaseUnit::iteration_s;
  prediction.values = {
      cases::PredictedValue{time, time * (1 - baseline_interval), time * (1 + baseline_interval)}};
  return prediction;
}

constexpr std::array all_cold{
    ColdBaseline{"mfu40", "6 operations a parameter and token at 40 % of the GPU's peak", 0.4},
    ColdBaseline{"peak", "6 operations a parameter and token at the GPU's peak", 1}};

using cases::CasePrediction;
using cases::CurveCase;
using cases::GivenCurve;
using Times = std::optional<std::vector<Seconds>>;

/// The curve whose number of ranks is nearest to the one asked, by ratio; the first of equals.
const GivenCurve& nearest(const CurveCase& curve) {
  const double asked = curve.scale();
  return *std::ranges::min_element(curve.given, {}, [&](const GivenCurve& given) {
    return std::abs(std::log(given.scale() / asked));
  });
}

/// A straight line through the smallest and the largest given size, α ≥ 0 and β ≥ 0. For another
/// number of ranks it scales like a ring:
///   t = α + β m,  α ~ p − 1,  β ~ (p − 1) / p
/// Wrong between sizes where the library changes its algorithm.
Times alpha_beta(const CurveCase& curve) {
  const GivenCurve& given = nearest(curve);
  const int p = curve.scale();
  const int q = given.scale();
  if (given.bytes.size() < 2 || (p != q && q < 2)) return {};
  const Bytes first = given.bytes.front();
  SecondsPerByte beta = std::max(
      (given.times.back() - given.times.front()) / (given.bytes.back() - first), SecondsPerByte());
  Seconds alpha = std::max(given.times.front() - beta * first, Seconds());
  if (p != q) {
    alpha = alpha * ((p - 1.0) / (q - 1.0));
    beta = beta * ((p - 1.0) / p * q / (q - 1.0));
  }
  std::vector<Seconds> times;
  for (const Bytes m : curve.query) times.push_back(alpha + beta * m);
  return times;
}

/// Index of the end of the segment of the curve that contains a size, or is nearest to it.
std::size_t segment_end(const GivenCurve& given, Bytes m) {
  const auto found = std::ranges::lower_bound(given.bytes, m);
  const auto place = static_cast<std::size_t>(found - given.bytes.begin());
  return std::clamp<std::size_t>(place, 1, given.bytes.size() - 1);
}

/// Straight between the given sizes, and beyond them, on logarithmic axes. For another number of
/// ranks it is the nearest curve, unchanged:
///   log t = log t₀ + (log m − log m₀) / (log m₁ − log m₀) · (log t₁ − log t₀)
/// Wrong for other numbers of ranks.
Times loglog(const CurveCase& curve) {
  const GivenCurve& given = nearest(curve);
  if (given.bytes.size() < 2) return {};
  std::vector<Seconds> times;
  for (const Bytes m : curve.query) {
    const std::size_t end = segment_end(given, m);
    const double x0 = std::log(given.bytes[end - 1].si());
    const double x1 = std::log(given.bytes[end].si());
    const double y0 = std::log(given.times[end - 1].si());
    const double y1 = std::log(given.times[end].si());
    times.emplace_back(std::exp(y0 + (std::log(m.si()) - x0) / (x1 - x0) * (y1 - y0)));
  }
  return times;
}

constexpr std::array all_of_curves{
    CurveBaseline{"alpha_beta", "a line through the smallest and the largest given size",
                  alpha_beta},
    CurveBaseline{"loglog", "log-log interpolation between the given sizes", loglog}};

/// Whether no collective can take that time: a steep curve was extrapolated far.
bool is_absurd(Seconds time) {
  return !std::isfinite(time.si()) || time.si() < 1e-30 || time.si() > 1e30;
}

CasePrediction predict_curve(const CurveBaseline& baseline, const CurveCase& curve) {
  if (curve.given.empty()) return cases::not_covered(curve.id, "no curve is given");
  const Times times = baseline.times(curve);
  if (!times) return cases::not_covered(curve.id, "the nearest curve has too few points or ranks");
  if (std::ranges::any_of(*times, is_absurd)) {
    return cases::not_covered(curve.id, "the given curve is too steep to be extended so far");
  }
  CasePrediction prediction;
  prediction.id = curve.id;
  prediction.unit = cases::CaseUnit::time_s;
  for (const Seconds time : *times) {
    const double value = time.si();
    prediction.values.emplace_back(cases::PredictedValue{value, value * (1 - baseline_interval),
                                                         value * (1 + baseline_interval)});
  }
  return prediction;
}

using cases::CasePrediction;
using cases::GivenPoint;
using cases::ScalingCase;

/// The least share of the given time that is computing, however long the ring takes at its nominal
/// bandwidth.
constexpr double least_computing = 0.1;

// Here and below, roundings follow the published definition step by step. Trainings with
// predictions equal to the last bit share a rank in the scoring.

/// Computing time grows with the batch of a GPU.
Seconds scaled(Seconds computing, const ScalingCase& training) {
  return computing * training.batch_per_gpu / training.given.front().batch_per_gpu;
}

/// Throughput proportional to the number of GPUs:
///   t = t₀ · b / b₀
/// t₀, b₀: time and batch per GPU of the given point. Wrong wherever communication is not hidden.
Seconds linear(const ScalingCase& training) {
  return scaled(training.given.front().iteration(), training);
}

/// Computing, then a ring at nominal bandwidth, without overlap:
///   t = t_c · b / b₀ + ring(p),  t_c = max(t₀ − ring(p₀), t₀ / 10)
/// Wrong where communication is hidden, or slower than its data sheet.
Seconds bsp_ring(const ScalingCase& training) {
  const GivenPoint& given = training.given.front();
  const Seconds t0 = given.iteration();
  const Seconds computing = std::max(t0 - nominal_ring(training, given.gpus), least_computing * t0);
  return scaled(computing, training) + nominal_ring(training, training.gpus);
}

/// The whole gradient as one message that the backward pass hides as far as it can:
///   t = t_c/3 + max(2 t_c/3, ring(p)),  t_f : t_b = 1 : 2
/// t_c solves the equation at the given point, then grows with the batch. Wrong where messages are
/// many and small, or the last begins late.
Seconds wfbp_ideal(const ScalingCase& training) {
  const GivenPoint& given = training.given.front();
  const Seconds t0 = given.iteration();
  const Seconds ring = nominal_ring(training, given.gpus);
  const bool is_hidden = 2.0 / 3.0 * t0 >= ring;
  const Seconds at_given = is_hidden ? t0 : std::max(3.0 * (t0 - ring), least_computing * t0);
  const double batches = training.batch_per_gpu / given.batch_per_gpu;
  const Seconds computing = at_given * batches;
  return computing / 3.0 + std::max(2.0 * computing / 3.0, nominal_ring(training, training.gpus));
}

constexpr std::array all_of_trainings{
    TrainingBaseline{"linear", "throughput proportional to the number of GPUs", linear},
    TrainingBaseline{"bsp_ring", "computing, then a ring at nominal bandwidth", bsp_ring},
    TrainingBaseline{"wfbp_ideal", "a ring at nominal bandwidth, ideally overlapped", wfbp_ideal}};

CasePrediction predict_training(const TrainingBaseline& baseline, const ScalingCase& training) {
  if (training.given.empty()) {
    return cases::not_covered(training.id, "no measured point is given to scale from");
  }
  const double throughput = (training.global_batch / baseline.iteration(training)).si();
  EXPECT(std::isfinite(throughput) && throughput > 0);
  CasePrediction prediction;
  prediction.id = training.id;
  prediction.values = {cases::PredictedValue{throughput, throughput * (1 - baseline_interval),
                                             throughput * (1 + baseline_interval)}};
  return prediction;
}

}  // namespace

std::span<const ColdBaseline> cold_baselines() {
  return all_cold;
}

std::vector<CasePrediction> predict(const ColdBaseline& baseline,
                                    std::span<const ScalingCase> trainings,
                                    const DeviceCatalogue& devices) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : trainings) {
    predictions.push_back(predict_cold(baseline, training, devices));
  }
  return predictions;
}

std::span<const CurveBaseline> curve_baselines() {
  return all_of_curves;
}

std::vector<CasePrediction> predict(const CurveBaseline& baseline,
                                    std::span<const CurveCase> curves) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(curves.size());
  for (const CurveCase& curve : curves) predictions.push_back(predict_curve(baseline, curve));
  return predictions;
}

Seconds nominal_ring(const ScalingCase& training, int p) {
  EXPECT(p >= 1);
  if (p < 2) return {};
  const Bytes gradient =
      static_cast<double>(training.network.parameters) * training.gradient_element;
  BytesPerSecond bandwidth = training.cluster.intra_node.bandwidth;
  if (p > training.gpus_per_node && training.cluster.inter_node) {
    const BytesPerSecond between = training.cluster.inter_node->bandwidth;
    bandwidth = training.gpus_per_node > 1 ? std::min(bandwidth, between) : between;
  }
  return 2.0 * (p - 1) / p * gradient / bandwidth;
}

std::span<const TrainingBaseline> training_baselines() {
  return all_of_trainings;
}

std::vector<CasePrediction> predict(const TrainingBaseline& baseline,
                                    std::span<const ScalingCase> trainings) {
  std::vector<CasePrediction> predictions;
  predictions.reserve(trainings.size());
  for (const ScalingCase& training : trainings) {
    predictions.push_back(predict_training(baseline, training));
  }
  return predictions;
}

}  // namespace dlscale::model
