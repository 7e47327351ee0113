#include "report/explanation_table.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "report/json/explanation_json.hpp"
#include "report/numbers.hpp"
#include "report/prediction_table.hpp"
#include "report/record_columns.hpp"

namespace dlscale::report {
namespace {

using model::Advice;
using model::Explanation;
using model::PartOfIteration;
using model::Sensitivity;

/// Of the iteration below which a change counts as none.
constexpr double nothing = 0.00005;

double change_to(const Explanation& explanation, Seconds iteration) {
  const Seconds total = explanation.prediction.time.total;
  return (iteration - total) / total;
}

double gain_of(const Explanation& explanation, const Advice& advice) {
  return advice.images_per_s / explanation.prediction.images_per_s - 1;
}

bool has_effect(const Explanation& explanation, const Sensitivity& input) {
  return std::abs(change_to(explanation, input.better)) >= nothing ||
         std::abs(change_to(explanation, input.worse)) >= nothing;
}

/// "alexnet on p40x16, …, 16 ranks".
std::string title_of(const Explanation& explanation, std::string_view what) {
  const Run& run = explanation.prediction.run;
  return fmt::format("{}: {}, {}", what, run_title(run), counted(run.ranks, "rank"));
}

Table parts_table(const Explanation& explanation) {
  Table table;
  table.title = title_of(explanation, "Parts");
  table.columns = {{"part", Align::left}, {"takes ms"}, {"iteration without ms"}, {"change"}};
  for (const PartOfIteration& part : explanation.parts) {
    table.rows.push_back({{part.name},
                          {milliseconds(part.busy)},
                          {milliseconds(part.without)},
                          {signed_percent(change_to(explanation, part.without))}});
  }
  const model::Prediction& prediction = explanation.prediction;
  table.notes.push_back(fmt::format("the iteration takes {} ms, bound by {}",
                                    milliseconds(prediction.time.total), prediction.bound));
  table.notes.emplace_back(
      "parts run beside one another: without one, the others show; so much a perfect one would "
      "help");
  for (const model::Note& note : prediction.notes) table.notes.push_back(note.text());
  return table;
}

Table inputs_table(const Explanation& explanation) {
  Table table;
  table.title = title_of(explanation, "Inputs");
  table.columns = {{"10 % better", Align::left}, {"iteration ms"}, {"change"}, {"10 % worse"}};
  std::vector<std::string> idle;
  for (const Sensitivity& input : explanation.inputs) {
    if (!has_effect(explanation, input)) {
      idle.push_back(input.input);
      continue;
    }
    table.rows.push_back({{input.input},
                          {milliseconds(input.better)},
                          {signed_percent(change_to(explanation, input.better))},
                          {signed_percent(change_to(explanation, input.worse))}});
  }
  if (!idle.empty()) {
    table.notes.push_back(fmt::format("without effect: {}", fmt::join(idle, ", ")));
  }
  table.notes.emplace_back(
      "each changed alone, a rate times or over 1.1 and a time over or times 1.1, and predicted "
      "anew");
  return table;
}

Table advice_table(const Explanation& explanation) {
  Table table;
  table.title = title_of(explanation, "Other ways to run");
  table.columns = {{"with", Align::left}, {"iteration ms"}, {"images/s"}, {"gain"}};
  for (const Advice& advice : explanation.advice) {
    if (!advice.why_not.empty()) {
      table.notes.push_back(fmt::format("{}: {}", advice.change, advice.why_not));
      continue;
    }
    const double gain = gain_of(explanation, advice);
    table.rows.push_back({{advice.change},
                          {milliseconds(advice.iteration)},
                          {significant(advice.images_per_s, 4)},
                          {signed_percent(gain), gain > nothing ? Tone::good : Tone::plain}});
  }
  table.notes.emplace_back(
      "one choice changed at a time; another batch or precision trains another way, too");
  return table;
}

/// What helps most, of what helps at all.
std::string best_of(const Explanation& explanation) {
  std::string text;
  if (!explanation.inputs.empty()) {
    const Sensitivity& input = explanation.inputs.front();
    const double change = change_to(explanation, input.better);
    if (change <= -nothing) {
      text += fmt::format(" Of inputs, {} counts most: {} of the iteration with it 10 % better.",
                          input.input, signed_percent(change));
    }
  }
  if (!explanation.advice.empty() && explanation.advice.front().why_not.empty()) {
    const Advice& advice = explanation.advice.front();
    const double gain = gain_of(explanation, advice);
    if (gain >= nothing) {
      text += fmt::format(" Of other ways to run, {} helps most: {} images a second.",
                          advice.change, signed_percent(gain));
    }
  }
  return text;
}

std::string lead_of(const Explanation& explanation) {
  const model::Prediction& prediction = explanation.prediction;
  return fmt::format("{} bounds {} on {} of {}.{}", prediction.bound, prediction.run.network,
                     counted(prediction.run.ranks, "rank"), prediction.run.cluster,
                     best_of(explanation));
}

/// Of one explanation: a row for the iteration itself and for each part, input and other way to
/// run.
class Rows {
 public:
  explicit Rows(const Explanation& explanation) : explanation_(&explanation) {}
  std::vector<std::vector<Cell>> all();

 private:
  void add(std::string kind, std::string name, std::vector<Cell> rest);
  void add(const Advice& advice);
  [[nodiscard]] static Cell time(Seconds seconds) { return {exact(seconds.si())}; }
  [[nodiscard]] Cell change(Seconds iteration) const {
    return {exact(change_to(*explanation_, iteration))};
  }

  const Explanation* explanation_;
  std::vector<std::vector<Cell>> rows_;
};

void Rows::add(std::string kind, std::string name, std::vector<Cell> rest) {
  const Run& run = explanation_->prediction.run;
  std::vector<Cell> row{
      {run.network},     {run.cluster},    {std::to_string(run.ranks)}, {std::to_string(run.batch)},
      {std::move(kind)}, {std::move(name)}};
  row.insert(row.end(), rest.begin(), rest.end());
  rows_.push_back(std::move(row));
}

void Rows::add(const Advice& advice) {
  if (!advice.why_not.empty()) {
    add("advice", advice.change, {{""}, {""}, {""}, {""}, {""}, {advice.why_not}, {""}});
    return;
  }
  add("advice", advice.change,
      {{""},
       time(advice.iteration),
       change(advice.iteration),
       {""},
       {exact(advice.images_per_s)},
       {""},
       {""}});
}

std::vector<std::vector<Cell>> Rows::all() {
  const model::Prediction& prediction = explanation_->prediction;
  add("iteration", "",
      {{""},
       time(prediction.time.total),
       {"0"},
       {""},
       {exact(prediction.images_per_s)},
       {""},
       {prediction.bound}});
  for (const PartOfIteration& part : explanation_->parts) {
    add("part", part.name,
        {time(part.busy), time(part.without), change(part.without), {""}, {""}, {""}, {""}});
  }
  for (const Sensitivity& input : explanation_->inputs) {
    add("input", input.input,
        {{""}, time(input.better), change(input.better), time(input.worse), {""}, {""}, {""}});
  }
  for (const Advice& advice : explanation_->advice) add(advice);
  return std::move(rows_);
}

Table records(std::span<const Explanation> explanations) {
  Table table;
  add_columns(table.columns, Meaning::key,
              {"network", "cluster", "ranks", "batch", "kind", "name"});
  add_columns(table.columns, Meaning::value,
              {"busy_s", "t_iter_s", "change", "worse_t_iter_s", "images_per_s"});
  add_columns(table.columns, Meaning::remark, {"why_not", "bound"});
  for (const Explanation& explanation : explanations) {
    for (std::vector<Cell>& row : Rows(explanation).all()) table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Document explanation_document(std::span<const Explanation> explanations) {
  EXPECT(!explanations.empty());
  Document document;
  document.lead = lead_of(explanations.back());
  for (const Explanation& explanation : explanations) {
    document.tables.push_back(parts_table(explanation));
    document.tables.push_back(inputs_table(explanation));
    document.tables.push_back(advice_table(explanation));
  }
  document.records = records(explanations);
  document.json = explanation_json(explanations);
  return document;
}

}  // namespace dlscale::report
