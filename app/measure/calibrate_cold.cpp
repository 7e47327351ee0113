#include "app/measure/calibrate_cold.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "app/measure/fit_output.hpp"
#include "core/config/config_path.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output.hpp"
#include "core/text/numbers.hpp"
#include "model/published/cold/leave_out.hpp"
#include "model/published/cold/predictor.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "report/score/judged_case.hpp"
#include "report/score/score_report.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

using model::cold::ColdFit;

/// The cases of a file that `is_chosen` takes by their fields.
cases::CaseFile chosen(const cases::CaseFile& file,
                       const std::function<bool(const cases::ScalingCase&)>& is_chosen) {
  cases::CaseFile some{file.path};
  for (std::size_t i = 0; i < file.trainings.size(); ++i) {
    if (!is_chosen(file.trainings[i])) continue;
    some.trainings.push_back(file.trainings[i]);
    some.outcomes.push_back(file.outcomes[i]);
  }
  return some;
}

std::vector<report::Cell> row_of(const std::string& name, const report::Score& score) {
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  return {{name},
          {std::to_string(score.items)},
          {percent(score.mean)},
          {percent(score.median)},
          {fmt::format("{:+.1f}", 100 * score.bias)},
          {score.width ? percent(score.coverage) : "-"},
          {score.width ? percent(*score.width) : "-"}};
}

/// Rows of a table of scores.
class ScoreRows {
 public:
  ScoreRows(const cases::CaseFile& file, std::vector<cases::CasePrediction> predictions)
      : file_(&file), predictions_(std::move(predictions)) {}

  /// A row for all that are chosen, with sets alike, and if wanted one for each set.
  void add(const std::string& name, bool sets,
           const std::function<bool(const cases::ScalingCase&)>& is_chosen) {
    const cases::CaseFile some = chosen(*file_, is_chosen);
    const std::vector<report::JudgedCase> judged =
        report::chosen_cases(some, predictions_, report::CaseChoice{});
    if (judged.empty()) return;
    const report::GroupedScore scores = report::score(judged);
    if (sets) {
      for (const auto& [set, score] : scores.groups) rows.push_back(row_of("  " + set, score));
    }
    rows.push_back(row_of(name, scores.overall));
  }

  /// Rows for GPUs that fits have not seen.
  void add(const std::vector<model::cold::LeftOutGpu>& gpus) {
    std::vector<report::JudgedCase> judged;
    for (const model::cold::LeftOutGpu& gpu : gpus) {
      report::JudgedCase one;
      one.group = gpu.architecture;
      one.items = {{1, 1 + gpu.error, {}, {}, {}}};
      judged.push_back(one);
    }
    const report::GroupedScore scores = report::score(judged);
    for (const auto& [gpu, score] : scores.groups) rows.push_back(row_of("  " + gpu, score));
    rows.push_back(row_of("one GPU, architectures alike", scores.overall));
  }

  std::vector<std::vector<report::Cell>> rows = {};

 private:
  const cases::CaseFile* file_;
  std::vector<cases::CasePrediction> predictions_;
};

report::Table score_table(const cases::CaseFile& file, const ColdFit& made,
                          const model::scaling::FactSources& sources) {
  const model::scaling::ScalingFile scaling =
      model::scaling::load_scaling(model::scaling::usual_scaling);
  ScoreRows scores(file, model::cold::predict(scaling.fitted, made.file, sources, file.trainings));
  const auto is_alone = [](const cases::ScalingCase& one) { return one.gpus == 1; };
  scores.add("one GPU, sets alike", true, is_alone);
  std::set<std::string> precisions;
  for (const cases::ScalingCase& one : file.trainings) {
    if (one.gpus == 1) precisions.insert(one.precision);
  }
  for (const std::string& precision : precisions) {
    scores.add("one GPU, " + precision, false, [&](const cases::ScalingCase& one) {
      return one.gpus == 1 && one.precision == precision;
    });
  }
  scores.add("all, sets alike", true, [](const cases::ScalingCase&) { return true; });
  scores.add(made.other_gpus);
  report::Table table;
  table.title =
      "Samples a second by fits that have not seen the set, or the architecture of the GPU";
  table.columns = {{"trainings", report::Align::left},
                   {"number"},
                   {"mean error %"},
                   {"median %"},
                   {"bias %"},
                   {"in 90 % interval %"},
                   {"its width %"}};
  table.rows = std::move(scores.rows);
  return table;
}

}  // namespace

ExitCode calibrate_cold(const cases::CaseFile& file, const std::string& output,
                        const FitsProgress& progress) {
  const bool to_standard_output = output == "-";
  refuse_other_than_kernels(output);
  const std::filesystem::path now = find_config("models", "kernels");
  const model::scaling::FactSources sources = model::scaling::FactSources::load();
  const ColdFit made = model::cold::fit_cold(file.trainings, file.outcomes, sources,
                                             model::sheet::load_kernel_file(now), progress);
  write_output(output,
               model::cold::fitted_text(content_of(now), made, file.path.filename().string()));
  std::FILE* const told = to_standard_output ? stderr : stdout;
  std::size_t fitted = 0;
  for (const auto& [set, trainings] : made.sets) fitted += trainings;
  fmt::print(told, "{}: fitted to {} on one GPU, of {}\n", to_standard_output ? "model" : output,
             counted(static_cast<long long>(fitted), "training"),
             counted(static_cast<long long>(made.sets.size()), "set"));
  if (made.not_measured + made.not_covered > 0) {
    fmt::print(told, "passed over: {} without a measured value, {} not covered by the model\n",
               made.not_measured, made.not_covered);
  }
  print_tables(told,
               {score_table(file, made, sources),
                constant_table("Constants of kernels", names_of(model::sheet::fitted_constants()),
                               made.file.fitted)});
  return ExitCode::ok;
}

}  // namespace dlscale::app
