#include "app/predict/answer_words.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/options/measured_option.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"

namespace dlscale::app {
namespace {

/// Data sheets, and the published trainings that the rows use: "data sheets and published
/// trainings, 281 on one GPU".
std::string sheets_and_trainings(const Device& device, std::span<const model::Prediction> rows) {
  const bool fitted_kernels = model::sheet::has_kernel_times(device);
  const std::string sheets = fitted_kernels ? "data sheets" : "data sheets at full peak";
  std::string trainings;
  const auto add = [&](std::size_t count, const char* where) {
    trainings += fmt::format("{}{} on {}", trainings.empty() ? "" : " and ", count, where);
  };
  if (fitted_kernels) {
    add(static_cast<std::size_t>(model::sheet::nominal_constants().trainings), "one GPU");
  }
  const bool several = std::ranges::any_of(rows, [](const auto& row) { return row.run.ranks > 1; });
  if (several) {
    add(model::nominal_scaling_trainings(), fitted_kernels ? "several" : "several GPUs");
  }
  return trainings.empty() ? sheets
                           : fmt::format("{} and published trainings, {}", sheets, trainings);
}

std::string rests_on(const model::Machine& machine, std::span<const model::Prediction> rows) {
  if (machine.fitted) return "measurements of this machine";
  if (machine.level) return MeasuredOption::words(*machine.level);
  return sheets_and_trainings(machine.cluster.device, rows);
}

}  // namespace

report::PredictionWords words_for(const Network& network, const model::Machine& machine,
                                  std::span<const model::Prediction> rows) {
  EXPECT(!rows.empty());
  report::PredictionWords words;
  if (machine.cluster.device.kind == DeviceKind::gpu) words.workers = "GPUs";
  words.rests_on = rests_on(machine, rows);
  words.hints = unusual_choices(network, machine, rows.front().run.dtype);
  const bool may_be_measured = !machine.level && !machine.fitted;
  const char* const samples = network.is_over_sequences() ? "SEQUENCES" : "IMAGES";
  words.more = options_that_say_more(may_be_measured ? fmt::format("\"1={}/S\"", samples) : "");
  return words;
}

std::vector<std::string> unusual_choices(const Network& network, const model::Machine& machine,
                                         DType dtype) {
  std::vector<std::string> sentences;
  if (machine.fitted) return sentences;
  if (dtype == DType::f32 && machine.cluster.device.peak.contains(DType::tf32)) {
    sentences.emplace_back(
        "f32 is computed without tf32 here; frameworks take tf32 on this GPU by default, at least "
        "in convolutions: --dtype tf32");
  }
  const ComputeTraits traits = model::sheet::traits_for(network, dtype, machine.software);
  const std::string later = network.name() + "_v1.5";
  const std::vector<std::string> names = config_names("networks");
  if (traits.stated && !traits.first_1x1_strided &&
      std::ranges::find(names, later) != names.end()) {
    sentences.push_back(
        fmt::format("{} is version 1, and what this software calls so is version 1.5: --network {}",
                    network.name(), later));
  }
  return sentences;
}

}  // namespace dlscale::app
