#include "report/score/memory_score.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

using model::memory::MemoryCase;
using model::memory::MemoryOutcome;
using model::memory::MemoryPrediction;
using model::memory::MemoryScore;

struct MemoryScoreRow {
  std::string group;
  MemoryScore score;
};

/// A share that exists only where trainings ran, or only where some did not.
std::optional<double> if_any(double share, std::size_t trainings) {
  if (trainings == 0) return {};
  return share;
}

Field<MemoryScoreRow> of_those_that_ran(std::string key, double MemoryScore::*member,
                                        std::string header, Look look) {
  const auto get = [member](const MemoryScoreRow& row) {
    return if_any(row.score.*member, row.score.ran);
  };
  return {std::move(key), Meaning::value, get, std::move(header), look};
}

Fields<MemoryScoreRow> memory_score_fields() {
  using enum Meaning;
  const auto right = [](const MemoryScoreRow& row) {
    return if_any(row.score.balanced, row.score.ran + row.score.failures);
  };
  return {
      {"group", key, &MemoryScoreRow::group, "group", as::words},
      {"ran", value, via(&MemoryScoreRow::score, &MemoryScore::ran), "ran", as::exact},
      of_those_that_ran("median_abs", &MemoryScore::median, "median", as::percent),
      of_those_that_ran("mean_abs", &MemoryScore::mean, "mean", as::percent),
      of_those_that_ran("bias", &MemoryScore::bias, "bias", as::signed_percent),
      of_those_that_ran("coverage", &MemoryScore::coverage, "in interval", as::percent),
      {"ran_denied", value, via(&MemoryScoreRow::score, &MemoryScore::ran_denied), "denied",
       as::exact},
      {"failed", value, via(&MemoryScoreRow::score, &MemoryScore::failures), "failed", as::exact},
      {"failed_missed", value, via(&MemoryScoreRow::score, &MemoryScore::failures_missed), "missed",
       as::exact},
      {"balanced", value, right, "verdict right", as::percent}};
}

std::vector<MemoryScoreRow> memory_rows(const MemoryScoreReport& report) {
  std::vector<MemoryScoreRow> rows;
  for (const auto& [group, score] : report.groups) rows.push_back({group, score});
  rows.push_back({"all cases", report.overall});
  return rows;
}

const std::string& memory_group(const MemoryCase& each, const std::string& by) {
  if (by == "set") return each.set;
  if (by == "network.name") return each.network;
  throw ConfigError(fmt::format(
      "{} is not a field that cases of memory are grouped by. Write set or network.name.", by));
}

std::vector<JudgedLimit> memory_limits(const MemoryScoreReport& report, const ScoreLimits& limits) {
  const MemoryScore& is = report.overall;
  Score score;
  score.mean = is.mean;
  score.median = is.median;
  score.bias = is.bias;
  score.coverage = is.coverage;
  return judged_limits(score, limits);
}

std::string memory_lead(const MemoryScore& is) {
  std::string lead = fmt::format("{} trainings ran", is.ran);
  if (is.ran > 0) {
    lead += fmt::format(
        ": the peak of their memory has a median absolute error of {:.1f} %, mean {:.1f} %, bias "
        "{:+.1f} %; {:.1f} % lie in their interval",
        100 * is.median, 100 * is.mean, 100 * is.bias, 100 * is.coverage);
  }
  return lead + fmt::format(
                    ". {} more ran out of memory. Whether a training fits is right in {:.1f} "
                    "%, with both kinds weighed alike.",
                    is.failures, 100 * is.balanced);
}

}  // namespace

MemoryScoreReport memory_score_report(const model::memory::MemoryCaseFile& file,
                                      const std::string& by) {
  const std::vector<MemoryPrediction> predictions = model::memory::predict_left_out(file);
  std::map<std::string, std::pair<std::vector<MemoryPrediction>, std::vector<MemoryOutcome>>>
      groups;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    auto& [predicted, measured] = groups[memory_group(file.cases[i], by)];
    predicted.push_back(predictions[i]);
    measured.push_back(file.outcomes[i]);
  }
  MemoryScoreReport report;
  for (const auto& [group, of] : groups) {
    report.groups[group] = model::memory::score(of.first, of.second);
  }
  report.overall = model::memory::score(predictions, file.outcomes);
  if (report.overall.ran + report.overall.failures == 0) {
    throw ConfigError(
        "No case of the file has a measurement, so that nothing can be scored. Add measured.");
  }
  return report;
}

Document memory_score_document(const MemoryScoreReport& report, const ScoreLimits& limits) {
  const std::vector<MemoryScoreRow> rows = memory_rows(report);
  Document document;
  document.lead = memory_lead(report.overall);
  Table table = table_of(memory_score_fields(), rows);
  table.title = "Predicted memory of published trainings";
  table.notes = {
      "Constants that are fitted come from the other networks of the file. denied: ran, and was "
      "predicted not to fit. missed: failed, and was predicted to fit."};
  for (const JudgedLimit& limit : memory_limits(report, limits)) {
    table.notes.push_back(fmt::format("The {} is {:.4f}, which {} the limit of {:g} to {:g}.",
                                      limit.name, limit.value, limit.is_kept() ? "keeps" : "misses",
                                      limit.least, limit.most));
  }
  document.tables = {std::move(table)};
  document.records = records_of(memory_score_fields(), rows);
  document.json = json_answer("dlscale.memory_score", [rows] {
    return Json{{"groups", list_of(memory_score_fields(), rows)}};
  });
  return document;
}

ExitCode exit_code(const MemoryScoreReport& report, const ScoreLimits& limits) {
  const std::vector<JudgedLimit> judged = memory_limits(report, limits);
  return std::ranges::all_of(judged, &JudgedLimit::is_kept) ? ExitCode::ok : ExitCode::regression;
}

}  // namespace dlscale::report
