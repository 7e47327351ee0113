#include "app/measure/calibrate_parallel.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <istream>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/option_values.hpp"
#include "app/measure/fit_output.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/published/baselines/baselines.hpp"
#include "model/published/parallel/interval_of_others.hpp"
#include "model/published/parallel/leave_out.hpp"
#include "model/published/parallel/own_points.hpp"
#include "model/published/parallel/predictor.hpp"
#include "report/score/judged_case.hpp"
#include "report/score/score_report.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

using cases::CasePrediction;
using model::parallel_time::ParallelFit;
using model::parallel_time::ParallelTimeFile;
using Predictions = std::vector<CasePrediction>;

bool opens_as_parallel(std::istream& content) {
  std::string line;
  return static_cast<bool>(std::getline(content, line)) && line == "schema: dlscale.parallel_times";
}

/// Trainings of all files, in order.
cases::CaseFile joined(std::span<const cases::CaseFile> files) {
  cases::CaseFile all;
  std::set<std::string> ids;
  for (const cases::CaseFile& file : files) {
    for (const cases::ScalingCase& one : file.trainings) {
      if (!ids.insert(one.id).second) {
        throw ConfigError(fmt::format("{} has the id {}, as a file before it. Name each file once.",
                                      file.path.string(), one.id));
      }
    }
    all.trainings.insert(all.trainings.end(), file.trainings.begin(), file.trainings.end());
    all.outcomes.insert(all.outcomes.end(), file.outcomes.begin(), file.outcomes.end());
  }
  return all;
}

/// The cases of a file that have a prediction among these.
cases::CaseFile predicted_of(const cases::CaseFile& file, const Predictions& predictions) {
  std::set<std::string_view> ids;
  for (const CasePrediction& one : predictions) ids.insert(one.id);
  cases::CaseFile some{file.path};
  for (std::size_t i = 0; i < file.trainings.size(); ++i) {
    if (!ids.contains(file.trainings[i].id)) continue;
    some.trainings.push_back(file.trainings[i]);
    some.outcomes.push_back(file.outcomes[i]);
  }
  return some;
}

/// e^(mean |ln(predicted / measured)|), each group alike.
double factor_of(std::span<const report::JudgedCase> judged) {
  std::map<std::string, std::pair<double, double>> groups;
  for (const report::JudgedCase& one : judged) {
    auto& [sum, count] = groups[one.group];
    for (const report::JudgedItem& item : one.items) {
      sum += item.predicted ? std::abs(std::log(*item.predicted / item.measured)) : INFINITY;
      ++count;
    }
  }
  double mean = 0;
  for (const auto& [group, of] : groups) mean += of.first / of.second;
  return std::exp(mean / static_cast<double>(groups.size()));
}

std::vector<report::Cell> row_of(const std::string& trainings, const report::Score& score,
                                 double factor) {
  const auto percent = [](double share) { return fmt::format("{:.1f}", 100 * share); };
  return {{trainings},
          {std::to_string(score.items)},
          {percent(score.mean)},
          {percent(score.median)},
          {fmt::format("{:+.1f}", 100 * score.bias)},
          {fmt::format("{:.3f}", factor)},
          {score.width ? percent(score.coverage) : "-"},
          {score.width ? percent(*score.width) : "-"}};
}

bool has_lesser_quality(const cases::CaseFile& file) {
  return std::ranges::any_of(file.outcomes,
                             [](const cases::Outcome& outcome) { return outcome.quality == "B"; });
}

using Rows = std::vector<std::vector<report::Cell>>;

/// Adds rows of each set that has predictions, and of several sets alike.
void add_rows(const cases::CaseFile& some, const Predictions& predictions,
              const std::string& quality, Rows& rows) {
  report::CaseChoice choice;
  choice.quality = quality;
  const auto judged = report::chosen_cases(some, predictions, choice);
  if (judged.empty()) return;
  const std::string suffix = quality == "A" ? "" : ", A and B";
  const report::GroupedScore scores = report::score(judged);
  for (const auto& [set, score] : scores.groups) {
    std::vector<report::JudgedCase> of_set;
    std::ranges::copy_if(
        judged, std::back_inserter(of_set),
        [&name = set](const report::JudgedCase& one) { return one.group == name; });
    rows.push_back(row_of(set + suffix, score, factor_of(of_set)));
  }
  if (scores.groups.size() < 2) return;
  rows.push_back(row_of(some.path.filename().string() + ", alike" + suffix, scores.overall,
                        factor_of(judged)));
}

/// Scores of predictions for the sets of each file, by quality A and, where there are others, by A
/// and B.
report::Table score_table(std::span<const cases::CaseFile> files, const std::string& title,
                          const Predictions& predictions) {
  report::Table table;
  table.title = title;
  table.columns = {{"trainings", report::Align::left},
                   {"number"},
                   {"mean %"},
                   {"median %"},
                   {"bias %"},
                   {"factor"},
                   {"in 90 % interval %"},
                   {"its width %"}};
  for (const cases::CaseFile& file : files) {
    const cases::CaseFile some = predicted_of(file, predictions);
    if (some.trainings.empty()) continue;
    add_rows(some, predictions, "A", table.rows);
    if (has_lesser_quality(some)) add_rows(some, predictions, "AB", table.rows);
  }
  return table;
}

/// The file with all fitted constants at their priors.
ParallelTimeFile by_priors(ParallelTimeFile file) {
  file.without.clear();
  for (const auto& key : model::parallel_time::fitted_time_constants()) {
    file.constants.*key.value = file.fitted.find(key.key)->second.prior;
  }
  return file;
}

/// Predictions of trainings that do not wait for memory.
Predictions without_waits(const Predictions& predictions) {
  Predictions some;
  std::ranges::copy_if(predictions, std::back_inserter(some), [](const CasePrediction& one) {
    return !model::parallel_time::waits_for_memory(one);
  });
  return some;
}

/// How the interval would cover each set, had the others alone chosen its quantiles.
report::Table interval_table(std::span<const model::parallel_time::IntervalOfOthers> intervals) {
  report::Table table;
  table.title = "The interval with quantiles of the other sets";
  table.columns = {{"trainings", report::Align::left},
                   {"number"},
                   {"low"},
                   {"high"},
                   {"in 90 % interval %"},
                   {"its width %"}};
  for (const auto& one : intervals) {
    table.rows.push_back({{one.set},
                          {std::to_string(one.trainings)},
                          {fmt::format("{:.2f}", one.low)},
                          {fmt::format("{:.2f}", one.high)},
                          {fmt::format("{:.1f}", 100 * one.covered)},
                          {fmt::format("{:.1f}", 100 * one.width)}});
  }
  table.notes = {"low and high: in deviations; quality A, without those that wait for memory"};
  return table;
}

std::vector<report::Table> score_tables(std::span<const cases::CaseFile> files,
                                        const cases::CaseFile& all, const ParallelFit& made,
                                        const DeviceCatalogue& devices) {
  namespace parallel = model::parallel_time;
  std::vector<report::Table> tables;
  const auto add = [&](const std::string& title, const Predictions& predictions) {
    tables.push_back(score_table(files, title, predictions));
  };
  const Predictions nested = parallel::predict(made.file, devices, all.trainings);
  add("Error of the time of an iteration, by fits that have not seen the set", nested);
  tables.back().notes = {
      "quality A, or as said; alike: each set weighs the same; factor: e^(mean |ln(predicted / "
      "measured)|)"};
  const Predictions awake = without_waits(nested);
  if (awake.size() < nested.size()) {
    add("The same without trainings that wait for memory", awake);
    tables.back().notes = {"how long these wait was derived from them"};
  }
  tables.push_back(interval_table(
      parallel::intervals_of_others(made.file.interval, all.trainings, all.outcomes, nested)));
  if (!made.other_networks.empty()) {
    add("By fits that have not seen the network, but others of its set", made.other_networks);
  }
  add("By the priors of the constants alone",
      parallel::predict(by_priors(made.file), devices, all.trainings));
  const parallel::OwnPoints points =
      parallel::predict_by_own_points(made.file, devices, all.trainings, all.outcomes);
  if (!points.cold.empty()) {
    add("By fits that have not seen the set, of trainings with a measured kin", points.cold);
    tables.back().notes = {
        "a kin has the same set, network, GPU, framework, precision and tensor width, and likewise "
        "one stage or several"};
    add("The same, with the kin as a point of the user's own", points.given);
    add("At the kin's share of the peak", points.same_share);
  }
  for (const auto& baseline : model::cold_baselines()) {
    add(fmt::format("{}: {}", baseline.name, baseline.doc),
        model::predict(baseline, all.trainings, devices));
  }
  return tables;
}

void print_counts(std::FILE* to, const std::string& where, const ParallelFit& made) {
  std::size_t fitted = 0;
  for (const auto& [set, trainings] : made.sets) fitted += trainings;
  fmt::print(to, "{}: fitted to {} of {}\n", where,
             counted(static_cast<long long>(fitted), "training"),
             counted(static_cast<long long>(made.sets.size()), "set"));
  if (made.not_measured + made.not_covered + made.not_fitted == 0) return;
  fmt::print(to,
             "passed over: {} of lesser quality or beyond their memory, {} without a measured "
             "value, {} not covered by the model\n",
             made.not_fitted, made.not_measured, made.not_covered);
}

}  // namespace

ExitCode calibrate_parallel(std::span<const cases::CaseFile> files, const std::string& output,
                            const FitsProgress& progress) {
  const bool to_standard_output = output == "-";
  if (!to_standard_output) {
    refuse_foreign_file(output, "a model of parallel times", opens_as_parallel);
  }
  const cases::CaseFile all = joined(files);
  const std::filesystem::path now = find_config("models", "parallel");
  const DeviceCatalogue devices = DeviceCatalogue::load();
  const ParallelFit made = model::parallel_time::fit_parallel(
      all.trainings, all.outcomes, devices, model::parallel_time::parallel_times(), progress);
  std::vector<std::string> names;
  for (const cases::CaseFile& file : files) names.push_back(file.path.filename().string());
  write_output(output, model::parallel_time::fitted_text(content_of(now), made, names));
  std::FILE* const told = to_standard_output ? stderr : stdout;
  print_counts(told, to_standard_output ? "model" : output, made);
  std::vector<report::Table> tables = score_tables(files, all, made, devices);
  tables.push_back(constant_table("Constants of parallel times",
                                  names_of(model::parallel_time::fitted_time_constants()),
                                  made.file.fitted, {"least without a set", "most"}));
  print_tables(told, std::move(tables));
  return ExitCode::ok;
}

}  // namespace dlscale::app
