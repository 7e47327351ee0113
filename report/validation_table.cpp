#include "report/validation_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/json/json.hpp"
#include "report/numbers.hpp"
#include "report/phases.hpp"
#include "report/prediction_table.hpp"
#include "report/record_columns.hpp"
#include "report/schedule_text.hpp"
#include "report/validate_order_table.hpp"

namespace dlscale::report {
namespace {

std::vector<Cell> run_cells(const Run& run, std::string schedule) {
  return {{run.network},
          {std::to_string(run.batch)},
          {std::string(dtype_name(run.dtype))},
          {std::move(schedule)},
          {std::to_string(run.ranks)}};
}

/// Whether a table has to say which links a run is over.
bool has_several_links(const Validation& validation) {
  std::set<std::string> links;
  for (const RunValidation& run : validation.runs) {
    if (run.run.ranks > 1) links.insert(run.links);
  }
  return links.size() > 1;
}

/// What tells the runs of a validation apart.
class RunColumns {
 public:
  explicit RunColumns(const Validation& validation)
      : has_several_links_(has_several_links(validation)) {}
  [[nodiscard]] std::vector<Column> columns() const {
    std::vector<Column> all{{"network", Align::left},
                            {"batch"},
                            {"dtype", Align::left},
                            {"schedule", Align::left},
                            {"ranks"}};
    if (has_several_links_) all.push_back({"links", Align::left});
    return all;
  }
  [[nodiscard]] std::vector<Cell> cells(const RunValidation& run) const {
    std::vector<Cell> all = run_cells(run.run, schedule_text(run.run));
    if (has_several_links_) all.push_back({run.links.empty() ? "–" : run.links});
    return all;
  }

 private:
  bool has_several_links_;
};

/// What the model and the measurement say that a run goes at the pace of. Launches of kernels are
/// compute as far as phases tell.
std::string bounds_text(const RunValidation& run) {
  const std::string& predicted = run.prediction.bound;
  const bool launches = predicted == "kernel launches" && run.measured_bound == "compute";
  if (launches || predicted == run.measured_bound) return predicted;
  return fmt::format("{} / {}", predicted, run.measured_bound);
}

std::string spread(const std::vector<double>& errors) {
  const auto [low, high] = std::minmax_element(errors.begin(), errors.end());
  return fmt::format("{} to {}", signed_percent(*low), signed_percent(*high));
}

Tone tone_of(bool passed) {
  return passed ? Tone::good : Tone::bad;
}

/// The groups by number of ranks, which have limits.
template <class Visit>
void for_each_limit(const Validation& validation, const Limits& limits, Visit visit) {
  for (const ErrorSummary& summary : validation.summaries) {
    if (const auto limit = limit_of(summary, limits)) visit(summary, *limit);
  }
}

/// The phase that most runs with so many ranks blame.
std::string common_blame(const Validation& validation, int ranks) {
  std::map<std::string, int> votes;
  for (const RunValidation& run : validation.runs) {
    if (run.run.ranks == ranks) ++votes[run.blame];
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(votes.begin(), votes.end(), fewer)->first;
}

std::string limit_clause(const ErrorSummary& summary, double limit) {
  return fmt::format("{} at {} (limit {}: {})", percent(summary.median_abs), summary.group,
                     percent(limit), passes(summary, limit) ? "kept" : "missed");
}

std::string blame_clause(const Validation& validation, const ErrorSummary& summary) {
  const std::string phase = common_blame(validation, summary.ranks);
  return fmt::format(" At {} the phase most often to blame is {} ({}).", summary.group, phase,
                     phase_word(phase));
}

std::string not_judged_clause(const Validation& validation) {
  if (validation.not_judged == 0) return "";
  return fmt::format(" {} could not be judged (see the notes), so nothing is passed.",
                     counted(validation.not_judged, "measurement"));
}

std::vector<Cell> summary_cells(const ErrorSummary& summary, const Limits& limits) {
  const auto limit = limit_of(summary, limits);
  std::vector<Cell> cells{{summary.group},
                          {std::to_string(summary.runs)},
                          {std::to_string(summary.repeats)},
                          {signed_percent(summary.bias)},
                          {percent(summary.median_abs)},
                          {percent(summary.p90_abs)}};
  cells.push_back({summary.naive_median_abs ? percent(*summary.naive_median_abs) : "–"});
  cells.push_back({limit ? percent(*limit) : "–"});
  const bool passed = limit && passes(summary, *limit);
  cells.push_back(limit ? Cell{passed ? "kept" : "missed", tone_of(passed)} : Cell{"–"});
  return cells;
}

std::string error_text(const PhaseError& phase) {
  return phase.error ? signed_percent(*phase.error) : "–";
}

/// The columns of a run that come after those of its phase.
void append_run_keys(Table& table, const Run& run) {
  std::vector<Column>& columns = table.columns;
  add_columns(columns, Meaning::key, {"synchronisation"});
  for (const ScheduleField& field : schedule_fields(run)) {
    add_columns(columns, Meaning::key, {field.key});
  }
  add_columns(columns, Meaning::key, {"links"});
  add_columns(columns, Meaning::value, {"t_iter_measured_low_s", "t_iter_measured_high_s"});
  add_columns(columns, Meaning::remark, {"bound_predicted", "bound_measured"});
  for (const std::string_view key : order_keys) {
    // Which schedule was fastest is an answer in words.
    add_columns(columns, key.starts_with("fastest") ? Meaning::remark : Meaning::value, {key});
  }
}

void append_run_cells(std::vector<Cell>& cells, const RunValidation& run) {
  cells.push_back({std::string(synchronisation_name(run.run.synchronisation))});
  for (const ScheduleField& field : schedule_fields(run.run)) cells.push_back({field.value});
  cells.insert(cells.end(), {{run.links},
                             {exact(run.measured_low.si())},
                             {exact(run.measured_high.si())},
                             {run.prediction.bound},
                             {run.measured_bound}});
}

Table empty_records(const Run& run) {
  Table table;
  add_columns(table.columns, Meaning::key,
              {"key", "network", "batch", "dtype", "schedule", "ranks", "backend"});
  add_columns(table.columns, Meaning::value, {"repeats"});
  add_columns(table.columns, Meaning::key, {"phase"});
  add_columns(table.columns, Meaning::value,
              {"predicted_s", "measured_s", "error", "share_of_error"});
  add_columns(table.columns, Meaning::remark, {"blame"});
  append_run_keys(table, run);
  return table;
}

Table records(const Validation& validation) {
  Table table = empty_records(validation.runs.front().run);
  for (std::size_t i = 0; i < validation.runs.size(); ++i) {
    const RunValidation& run = validation.runs[i];
    std::vector<Cell> of_run;
    append_run_cells(of_run, run);
    for (std::string& text : order_values(validation, i)) of_run.push_back({std::move(text)});
    for (const PhaseError& phase : run.phases) {
      std::vector<Cell> cells = run_cells(run.run, std::string(schedule_name(run.run.schedule)));
      cells.insert(cells.begin(), {run.key});
      cells.insert(cells.end(), {{run.backend},
                                 {std::to_string(run.repeats)},
                                 {phase.phase},
                                 {exact(phase.predicted.si())},
                                 {exact(phase.measured.si())},
                                 {phase.error ? exact(*phase.error) : ""},
                                 {exact(phase.share_of_error)},
                                 {run.blame}});
      cells.insert(cells.end(), of_run.begin(), of_run.end());
      table.rows.push_back(std::move(cells));
    }
  }
  return table;
}

}  // namespace

std::string verdict_sentence(const Validation& validation, const Limits& limits) {
  std::vector<std::string> clauses;
  std::string blames;
  for_each_limit(validation, limits, [&](const ErrorSummary& summary, double limit) {
    clauses.push_back(limit_clause(summary, limit));
    if (!passes(summary, limit)) blames += blame_clause(validation, summary);
  });
  return fmt::format("The predicted iteration time is off by {}, median of {}.{}{}{}",
                     fmt::join(clauses, " and "),
                     counted(validation.summaries.front().repeats, "measured repeat"), blames,
                     order_clause(validation, limits), not_judged_clause(validation));
}

Table runs_table(const Validation& validation) {
  Table table;
  table.title = "Iteration, predicted against measured";
  const RunColumns columns(validation);
  table.columns = columns.columns();
  for (const char* heading :
       {"predicted ms", "90 % interval", "measured ms", "error", "of repeats"}) {
    table.columns.push_back({heading});
  }
  table.columns.push_back({"blame", Align::left});
  table.columns.push_back({"bound by", Align::left});
  for (const RunValidation& run : validation.runs) {
    std::vector<Cell> cells = columns.cells(run);
    cells.push_back({milliseconds(run.iteration().predicted)});
    cells.push_back({interval_text(run.prediction)});
    cells.push_back({milliseconds(run.iteration().measured)});
    cells.push_back({error_text(run.iteration())});
    cells.push_back({spread(run.errors)});
    cells.push_back({run.blame});
    cells.push_back({bounds_text(run)});
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "error = (predicted − measured) / measured; blame = the phase that adds most to it",
      "the interval is that of the machine's fitted parameters, not of the model",
      "bound by: the work whose pace it goes at, messages under way while it computes counted, "
      "predicted / "
      "measured where these differ"};
  return table;
}

Table phases_table(const Validation& validation) {
  Table table;
  table.title = "Phases in ms, predicted / measured";
  const RunColumns columns(validation);
  table.columns = columns.columns();
  for (const Phase& phase : iteration_phases) table.columns.push_back({std::string(phase.series)});
  for (const RunValidation& run : validation.runs) {
    std::vector<Cell> cells = columns.cells(run);
    for (std::size_t i = 1; i < run.phases.size(); ++i) {
      const PhaseError& phase = run.phases[i];
      const bool blamed = phase.phase == run.blame;
      cells.push_back({fmt::format("{} / {}{}", milliseconds(phase.predicted),
                                   milliseconds(phase.measured), blamed ? " *" : ""),
                       blamed ? Tone::caution : Tone::plain});
    }
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "* the phase to blame for most of the error",
      "measured on the rank each iteration waited for; medians, so they need not add up"};
  return table;
}

Table errors_table(const Validation& validation, const Limits& limits) {
  Table table;
  table.title = "Error of the iteration by group, every repeat counted";
  table.columns = {{"group", Align::left},
                   {"runs"},
                   {"repeats"},
                   {"bias"},
                   {"median"},
                   {"90 % within"},
                   {"naive median"},
                   {"limit"},
                   {"verdict", Align::left}};
  for (const ErrorSummary& summary : validation.summaries) {
    table.rows.push_back(summary_cells(summary, limits));
  }
  table.notes = {"bias is the median signed error, median and 90 % are of the absolute error",
                 "naive: a model that says more ranks take as long as one, on the same runs"};
  for (const std::string& note : validation.notes) table.notes.push_back(note);
  return table;
}

Document validation_document(const Validation& validation, const Limits& limits) {
  std::vector<Table> tables{runs_table(validation), phases_table(validation),
                            errors_table(validation, limits)};
  if (!validation.orders.empty()) tables.push_back(orders_table(validation, limits));
  return {verdict_sentence(validation, limits), std::move(tables), records(validation),
          validation_json(validation, limits)};
}

}  // namespace dlscale::report
