#include "app/predict/predict_cases.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <istream>
#include <iterator>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cold/predictor.hpp"
#include "model/published/curves/predict.hpp"
#include "model/published/memory/memory_case.hpp"
#include "model/published/memory/predict.hpp"
#include "model/published/parallel/predictor.hpp"
#include "model/published/parallel/training.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/predictor.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::app {
namespace {

using cases::CasePrediction;
using cases::PredictionStatus;

/// Whether the content begins as lines of predictions do; lines of cases begin differently.
bool opens_as_predictions(std::istream& content) {
  constexpr std::string_view opening = R"({"id":)";
  std::string line;
  return static_cast<bool>(std::getline(content, line)) && line.starts_with(opening);
}

long long count_of(const std::vector<CasePrediction>& predictions, PredictionStatus status) {
  return std::ranges::count(predictions, status, &CasePrediction::status);
}

void print_predicted_counts(std::FILE* to, const std::vector<CasePrediction>& predictions) {
  fmt::print(to, "{} predicted, {} of them outside the domain of the model; {} not covered\n",
             counted(static_cast<long long>(predictions.size()) -
                         count_of(predictions, PredictionStatus::not_covered),
                     "case"),
             count_of(predictions, PredictionStatus::outside_domain),
             count_of(predictions, PredictionStatus::not_covered));
}

}  // namespace

void PredictCases::declare(CLI::App& verb) {
  model_ = model::scaling::usual_scaling;
  CLI::Option* cases =
      verb.add_option("--cases", cases_, "Published trainings or curves (docs/reference/cases.md)")
          ->type_name("FILE");
  CLI::Option* model =
      verb.add_option("--model", model_,
                      "Model of the trainings of --cases: a name in configs/models, or a file")
          ->type_name("MODEL")
          ->capture_default_str();
  model->needs(cases);
  exclude_others(verb, *cases, {"--model", "--output", "--quiet"});
}

namespace {

/// Predicts the memory of trainings, for which no model is chosen.
ExitCode predict_memory(const std::string& cases, const std::string& model,
                        const std::string& output, std::FILE* counts) {
  if (model != model::scaling::usual_scaling) {
    throw ConfigError(fmt::format(
        "{} holds cases of memory, which no model of trainings predicts. Leave --model out.",
        cases));
  }
  const auto predictions = model::memory::predict(model::memory::read_memory_cases(cases).cases);
  write_output(output, model::memory::prediction_lines(predictions));
  fmt::print(counts, "{} predicted\n", counted(std::ssize(predictions), "case"));
  return ExitCode::ok;
}

}  // namespace

ExitCode PredictCases::predict(const DocumentOutput& out) const {
  const std::string output = out.only_path("predictions of cases are lines of JSON");
  const bool to_standard_output = output.empty() || output == "-";
  if (!to_standard_output) {
    refuse_foreign_file(output, "a file of predictions", opens_as_predictions);
  }
  if (model::memory::holds_memory_cases(cases_)) {
    return predict_memory(cases_, model_, output, to_standard_output ? stderr : stdout);
  }
  const std::vector<CasePrediction> predictions =
      predictions_of(cases::read_cases(cases_), model_, ProgressLine::kind_for(out.is_quiet()));
  write_output(output, cases::prediction_lines(predictions));
  print_predicted_counts(to_standard_output ? stderr : stdout, predictions);
  return ExitCode::ok;
}

namespace {

/// Predicts some cases at a time, and shows how many of all are done.
class CaseProgress {
 public:
  CaseProgress(std::size_t all, ProgressLine::Kind kind) : all_(all), line_("cases", kind) {}
  template <class Case, class Predict>
  std::vector<CasePrediction> each(const std::vector<Case>& cases, std::size_t at_once,
                                   Predict predict) {
    std::vector<CasePrediction> predictions;
    for (std::size_t first = 0; first < cases.size(); first += at_once) {
      const auto some = std::span(cases).subspan(first, std::min(at_once, cases.size() - first));
      std::ranges::move(predict(some), std::back_inserter(predictions));
      line_.show(done_ += some.size(), all_);
    }
    return predictions;
  }

 private:
  std::size_t all_;
  std::size_t done_ = 0;
  PartsProgress line_;
};

/// Refuses a model for curves, since no model is fitted to them.
void expect_no_model(const cases::CaseFile& file, const std::string& model) {
  if (model == model::scaling::usual_scaling) return;
  throw ConfigError(fmt::format(
      "{} holds curves of collectives, each of which is predicted from its own points alone. Leave "
      "--model out.",
      file.path.string()));
}

model::sheet::KernelFile usual_kernels() {
  return model::sheet::load_kernel_file(find_config("models", "kernels"));
}

/// Models of trainings. Those beyond data parallelism have their own. Of others, one with a
/// measured point is scaled from it.
enum class TrainingModel { warm, cold, parallel };
TrainingModel model_of(const cases::ScalingCase& training) {
  if (model::parallel_time::goes_beyond_data_parallelism(training)) return TrainingModel::parallel;
  return training.given.empty() ? TrainingModel::cold : TrainingModel::warm;
}

/// Trainings by their model, each in the order of the file.
using TrainingLists = std::array<std::vector<cases::ScalingCase>, 3>;
using PredictionLists = std::array<std::vector<CasePrediction>, 3>;
std::size_t place_of(const cases::ScalingCase& training) {
  return static_cast<std::size_t>(model_of(training));
}

/// Predictions of all models in the order of the trainings.
std::vector<CasePrediction> in_order_of(const std::vector<cases::ScalingCase>& trainings,
                                        PredictionLists lists) {
  std::vector<CasePrediction> all;
  std::array<std::size_t, 3> next{};
  for (const cases::ScalingCase& training : trainings) {
    const std::size_t list = place_of(training);
    all.push_back(std::move(lists[list][next[list]++]));
  }
  return all;
}

}  // namespace

std::vector<cases::CasePrediction> predictions_of(const cases::CaseFile& file,
                                                  const std::string& model,
                                                  ProgressLine::Kind progress) {
  constexpr std::size_t few = 8;
  constexpr std::size_t all = std::numeric_limits<std::size_t>::max();
  CaseProgress parts(file.curves.size() + file.trainings.size(), progress);
  if (file.holds_curves()) {
    expect_no_model(file, model);
    return parts.each(file.curves, few,
                      [](const auto& some) { return model::predict_curves(some); });
  }
  const model::scaling::ScalingFile fitted = model::scaling::load_scaling(model);
  const model::scaling::FactSources sources = model::scaling::FactSources::load();
  TrainingLists lists;
  for (const cases::ScalingCase& training : file.trainings) {
    lists[place_of(training)].push_back(training);
  }
  const auto& [warm, cold, parallel] = lists;
  PredictionLists lists_of_models;
  lists_of_models[0] = parts.each(warm, few, [&](const auto& some) {
    return model::scaling::predict(fitted.fitted, sources, some);
  });
  // All at once: trainings of a set share what is known of its micro-batches.
  lists_of_models[1] = parts.each(cold, all, [&](const auto& together) {
    return model::cold::predict(fitted.fitted, usual_kernels(), sources, together);
  });
  if (!parallel.empty()) {
    const auto& times = model::parallel_time::parallel_times();
    const DeviceCatalogue devices = DeviceCatalogue::load();
    lists_of_models[2] = parts.each(parallel, few, [&](const auto& some) {
      return model::parallel_time::predict(times, devices, some);
    });
  }
  return in_order_of(file.trainings, std::move(lists_of_models));
}

}  // namespace dlscale::app
