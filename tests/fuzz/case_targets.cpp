// Cases of published measurements, and predictions of them.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/device_file.hpp"
#include "core/system/input_file.hpp"
#include "model/published/baselines/baselines.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/curves/predict.hpp"
#include "model/published/curves/sheet_curves.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/predictor.hpp"
#include "report/score/score_report.hpp"
#include "tests/core/case_lines.hpp"
#include "tests/fuzz/expect.hpp"
#include "tests/fuzz/row_counts.hpp"
#include "tests/fuzz/targets.hpp"

namespace dlscale::fuzz {
namespace {

namespace fs = std::filesystem;

/// Returns the result of `read`, whose refusals must name the file.
template <class Read>
auto read_naming_file(const fs::path& file, Read read) {
  try {
    return read();
  } catch (const ConfigError& error) {
    const std::string_view said = error.what();
    if (said.find(file.filename().string()) != said.npos) throw;
    throw std::logic_error(fmt::format("a refusal that does not name the file: {}", said));
  }
}

void expect_predictions(std::span<const cases::CasePrediction> predictions) {
  for (const cases::CasePrediction& prediction : predictions) {
    for (const auto& value : prediction.values) {
      if (!value) continue;
      expect_rate("a predicted number", value->value);
      if (value->low && !(*value->low <= *value->high)) throw std::logic_error("an empty interval");
    }
    for (const cases::PredictedTerm& term : prediction.terms) expect_time(term.name, term.time);
  }
  (void)cases::prediction_lines(predictions);
}

void expect_finite(const report::Score& score) {
  for (const double number :
       {score.mean, score.median, score.bias, score.p90, score.max, score.coverage,
        score.width.value_or(0), score.rank_correlation.value_or(0)}) {
    if (!std::isfinite(number)) throw std::logic_error(fmt::format("a score is {}", number));
  }
}

/// The first predictions are judged beside all.
void expect_scores(const cases::CaseFile& file,
                   const std::vector<report::NamedPredictions>& predictions) {
  const bool is_measured = std::ranges::any_of(
      file.outcomes, [](const auto& outcome) { return outcome.measured.has_value(); });
  if (!is_measured || predictions.empty()) return;
  const report::ScoreReport said =
      report::score_report(file, predictions.front(), predictions, {.by = "id", .quality = ""});
  expect_finite(said.predictions.score.overall);
  for (const report::ScoredPredictions& each : said.baselines) expect_finite(each.score.overall);
  // Writes refuse what is not finite.
  if (report::score_document(said, {}).json().empty()) throw std::logic_error("an empty score");
}

}  // namespace

std::vector<std::string> case_seeds() {
  return {std::string(test::training_line), std::string(test::curve_line)};
}

void use_cases(const fs::path& file) {
  const cases::CaseFile read = read_naming_file(file, [&] { return cases::read_cases(file); });
  expect_all_read("cases", rows_in(read_input(file, "")),
                  read.trainings.size() + read.curves.size());
  std::vector<report::NamedPredictions> all;
  for (const auto& baseline : model::training_baselines()) {
    all.push_back({std::string(baseline.name), "", model::predict(baseline, read.trainings)});
  }
  static const DeviceCatalogue devices = DeviceCatalogue::load();
  for (const auto& baseline : model::cold_baselines()) {
    expect_predictions(model::predict(baseline, read.trainings, devices));
  }
  for (const auto& baseline : model::curve_baselines()) {
    all.push_back({std::string(baseline.name), "", model::predict(baseline, read.curves)});
  }
  for (const report::NamedPredictions& each : all) expect_predictions(each.predictions);
  expect_scores(read, all);
  static const model::scaling::FactSources sources = model::scaling::FactSources::load();
  static const model::scaling::ScalingFile fitted =
      model::scaling::load_scaling(std::string(model::scaling::usual_scaling));
  expect_predictions(model::scaling::predict(fitted.fitted, sources, read.trainings));
  expect_predictions(model::predict_curves(read.curves));
  for (const char* algorithm : {"library", "nccl"}) {
    expect_predictions(model::predict_by_sheets(read.curves, algorithm));
  }
}

void use_scaling(const fs::path& file) {
  static const model::scaling::FactSources sources = model::scaling::FactSources::load();
  static const cases::CaseFile training = [] {
    const fs::path path =
        fs::temp_directory_path() / fmt::format("dlscale_case_{}.jsonl", getpid());
    std::ofstream(path, std::ios::binary) << test::training_line << '\n';
    cases::CaseFile read = cases::read_cases(path);
    fs::remove(path);
    return read;
  }();
  const model::scaling::ScalingFile fitted = model::scaling::load_scaling(file.string());
  expect_predictions(model::scaling::predict(fitted.fitted, sources, training.trainings));
}

std::vector<std::string> prediction_seeds() {
  return {R"({"id":"made/a","samples_per_s":900.5,"low":800,"high":1000,"status":"ok",)"
          R"("terms":[{"name":"forward","time_s":0.1,"basis":"measured"}]})"
          "\n"
          R"({"id":"made/b","status":"not_covered","reason":"fsdp"})"
          "\n"};
}

void use_predictions(const fs::path& file) {
  const std::vector<cases::CasePrediction> predictions =
      read_naming_file(file, [&] { return cases::read_predictions(file); });
  expect_all_read("predictions", rows_in(read_input(file, "")), predictions.size());
  expect_predictions(predictions);
  const fs::path again = file.parent_path() / "again.jsonl";
  fs::remove(again);
  std::ofstream(again, std::ios::binary) << cases::prediction_lines(predictions);
  if (cases::read_predictions(again) != predictions) {
    throw std::logic_error("predictions are others once they were written");
  }
}

}  // namespace dlscale::fuzz
