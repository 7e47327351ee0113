#include "report/score/judged_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::report {
namespace {

using cases::CaseFile;
using cases::CasePrediction;
using cases::CaseUnit;
using cases::Measured;
using cases::Outcome;
using cases::PredictedValue;

JudgedItem with_value(double measured, const PredictedValue& value) {
  return {measured, value.value, value.low, value.high, {}};
}

JudgedItem without_value(double measured) {
  return {measured, {}, {}, {}, {}};
}

/// The value in the other unit: fast in one is slow in the other. An interval that begins at zero
/// would have no end, and counts as absent.
PredictedValue converted(const PredictedValue& value, double global_batch) {
  PredictedValue other{global_batch / value.value, {}, {}};
  if (value.low && value.high && *value.low > 0) {
    other.low = global_batch / *value.high;
    other.high = global_batch / *value.low;
  }
  return other;
}

std::map<std::string, const CasePrediction*> by_id(std::span<const CasePrediction> predictions) {
  std::map<std::string, const CasePrediction*> known;
  for (const CasePrediction& prediction : predictions) known.emplace(prediction.id, &prediction);
  return known;
}

/// "None", as in Python, if the case lacks the field.
std::string group_of(const Outcome& outcome, const std::string& field) {
  const auto found = outcome.fields.find(field);
  return found == outcome.fields.end() ? "None" : found->second;
}

void expect_field(const CaseFile& file, const std::string& field) {
  std::set<std::string> all;
  for (const Outcome& outcome : file.outcomes) {
    for (const auto& [name, value] : outcome.fields) all.insert(name);
  }
  if (all.contains(field)) return;
  const std::vector<std::string> names(all.begin(), all.end());
  throw ConfigError(fmt::format("no case of {} has the field \"{}\" to group by. {}",
                                file.path.string(), field, suggestion(field, names)));
}

bool has_quality(const Outcome& outcome, const std::string& quality) {
  if (quality.empty()) return true;
  return !outcome.quality.empty() && quality.find(outcome.quality) != std::string::npos;
}

bool has_nodes(int nodes, NodeChoice choice) {
  switch (choice) {
    case NodeChoice::any:
      return true;
    case NodeChoice::one:
      return nodes == 1;
    case NodeChoice::several:
      return nodes > 1;
  }
  return false;
}

template <class Case>
JudgedCase judged(const Case& one, const Outcome& outcome, const CasePrediction* prediction,
                  const std::string& by) {
  JudgedCase judged;
  judged.id = one.id;
  judged.group = group_of(outcome, by);
  judged.unit = outcome.measured->unit;
  judged.items = judged_items(one, *outcome.measured, prediction);
  if (prediction == nullptr) {
    judged.status = cases::PredictionStatus::not_covered;
    judged.reason = "no prediction has its id";
    return judged;
  }
  judged.status = prediction->status;
  judged.reason = prediction->reason;
  judged.terms = prediction->terms;
  return judged;
}

template <class Case>
void judge_all(const std::vector<Case>& all, const CaseFile& file,
               const std::map<std::string, const CasePrediction*>& predictions,
               const CaseChoice& choice, std::vector<JudgedCase>& judged_cases) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Outcome& outcome = file.outcomes.at(i);
    if (!outcome.measured || !has_quality(outcome, choice.quality)) continue;
    if (!has_nodes(all[i].nodes, choice.nodes)) continue;
    const auto found = predictions.find(all[i].id);
    const CasePrediction* prediction = found == predictions.end() ? nullptr : found->second;
    judged_cases.push_back(judged(all[i], outcome, prediction, choice.by));
  }
}

[[noreturn]] void refuse_empty(const CaseFile& file, const CaseChoice& choice) {
  if (choice.nodes != NodeChoice::any) {
    throw ConfigError(fmt::format(
        "no measured case of {}{} is of {}. Ask for any number of nodes, or for the other.",
        file.path.string(), choice.quality.empty() ? "" : " of quality " + choice.quality,
        choice.nodes == NodeChoice::one ? "one node" : "several nodes"));
  }
  if (choice.quality.empty()) {
    throw ConfigError(fmt::format(
        "no case of {} says what was measured, so that there is nothing to score. Name a file "
        "whose cases have \"measured\".",
        file.path.string()));
  }
  throw ConfigError(
      fmt::format("no measured case of {} is of quality {}. Choose among A, B and C, such as AB.",
                  file.path.string(), choice.quality));
}

}  // namespace

std::string_view to_string(NodeChoice choice) {
  switch (choice) {
    case NodeChoice::any:
      return "any";
    case NodeChoice::one:
      return "one";
    case NodeChoice::several:
      return "several";
  }
  return "";
}

double JudgedItem::error() const {
  return predicted ? (*predicted - measured) / measured : -1.0;
}

bool JudgedItem::is_covered() const {
  return has_interval() && *low <= measured && measured <= *high;
}

bool JudgedCase::is_missing() const {
  return std::ranges::any_of(items, [](const JudgedItem& item) { return !item.predicted; });
}

std::vector<JudgedItem> judged_items(const cases::ScalingCase& training, const Measured& measured,
                                     const CasePrediction* prediction) {
  const double value = measured.values.at(0);
  const bool is_told = prediction != nullptr && prediction->values.size() == 1 &&
                       prediction->values.front() && prediction->unit != CaseUnit::time_s;
  if (!is_told) return {without_value(value)};
  const PredictedValue& predicted = *prediction->values.front();
  if (prediction->unit == measured.unit) return {with_value(value, predicted)};
  return {with_value(value, converted(predicted, training.global_batch))};
}

std::vector<JudgedItem> judged_items(const cases::CurveCase& curve, const Measured& measured,
                                     const CasePrediction* prediction) {
  EXPECT(measured.values.size() == curve.query.size());
  const bool is_told = prediction != nullptr && prediction->unit == CaseUnit::time_s &&
                       prediction->values.size() == measured.values.size();
  std::vector<JudgedItem> items;
  for (std::size_t i = 0; i < measured.values.size(); ++i) {
    const double value = measured.values[i];
    const bool has_value = is_told && prediction->values[i];
    items.push_back(has_value ? with_value(value, *prediction->values[i]) : without_value(value));
    items.back().bytes = curve.query[i];
  }
  return items;
}

std::vector<JudgedCase> chosen_cases(const CaseFile& file,
                                     std::span<const CasePrediction> predictions,
                                     const CaseChoice& choice) {
  const auto known = by_id(predictions);
  std::vector<JudgedCase> judged_cases;
  judge_all(file.trainings, file, known, choice, judged_cases);
  judge_all(file.curves, file, known, choice, judged_cases);
  return judged_cases;
}

std::vector<JudgedCase> judge_cases(const CaseFile& file,
                                    std::span<const CasePrediction> predictions,
                                    const CaseChoice& choice) {
  expect_field(file, choice.by);
  std::vector<JudgedCase> judged_cases = chosen_cases(file, predictions, choice);
  if (judged_cases.empty()) refuse_empty(file, choice);
  return judged_cases;
}

std::vector<std::string> unknown_ids(const CaseFile& file,
                                     std::span<const CasePrediction> predictions) {
  std::set<std::string> known;
  for (const auto& training : file.trainings) known.insert(training.id);
  for (const auto& curve : file.curves) known.insert(curve.id);
  std::vector<std::string> unknown;
  for (const CasePrediction& prediction : predictions) {
    if (!known.contains(prediction.id)) unknown.push_back(prediction.id);
  }
  return unknown;
}

}  // namespace dlscale::report
