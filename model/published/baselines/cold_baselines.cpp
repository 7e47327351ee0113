#include <fmt/format.h>

#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/published/baselines/baselines.hpp"

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

}  // namespace dlscale::model
