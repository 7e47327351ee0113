#include "report/validation/validation_table.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "report/prediction/iteration_fields.hpp"
#include "report/table/field_table.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

std::string two_decimals(const Json& value) {
  return value.is_null() ? "–" : fmt::format("{:.2f}", value.get<double>());
}

/// "alexnet, batch 32, f32, 2 ranks on 2 hosts, links of 1Gb/s by tc tbf": description of a
/// training.
std::string training_text(const RunValidation& validated) {
  const Run& run = validated.run;
  const int hosts = (run.ranks + run.ranks_per_node - 1) / run.ranks_per_node;
  return fmt::format("{}, batch {}, {}, {} on {}{}{}", run.network, run.batch,
                     dtype_name(run.dtype), counted(run.ranks, "rank"), counted(hosts, "host"),
                     validated.links.empty() ? "" : ", ", validated.links);
}

/// The run at a place of an order.
const RunValidation& ordered_run(const Validation& validation, const ScheduleOrder& order,
                                 std::size_t place) {
  return validation.runs.at(order.runs.at(place));
}

/// An order of schedules, measured against predicted; the fields refer to the validation.
Fields<ScheduleOrder> order_fields(const Validation& validation, const Limits& limits) {
  using F = Field<ScheduleOrder>;
  using enum Meaning;
  constexpr Look decimals{two_decimals};
  const auto training = [&validation](const ScheduleOrder& order) {
    return training_text(ordered_run(validation, order, 0));
  };
  const auto run_at = [](std::size_t ScheduleOrder::*place) {
    return [place](const ScheduleOrder& order) { return order.runs.at(order.*place); };
  };
  const auto schedule_at = [&validation](std::size_t ScheduleOrder::*place) {
    return [&validation, place](const ScheduleOrder& order) {
      return schedule_text(ordered_run(validation, order, order.*place).run);
    };
  };
  const auto passed = [limits](const ScheduleOrder& order) { return passes(order, limits); };
  const auto verdict = [passed](const ScheduleOrder& order) {
    const auto its = passed(order);
    return its ? kept_cell(its) : Cell{"not judged"};
  };
  return {
      F::table("training", training, as::words),
      {"runs", key, &ScheduleOrder::runs, "schedules",
       [](const ScheduleOrder& order) { return std::to_string(order.runs.size()); }},
      {"measured_ranks", value, &ScheduleOrder::measured_ranks},
      {"predicted_ranks", value, &ScheduleOrder::predicted_ranks},
      {"rank_correlation", value, &ScheduleOrder::correlation, "rank correlation", decimals},
      {"pairs_apart", value, &ScheduleOrder::pairs_apart, "pairs apart", as::exact},
      {"pairs_right", value, &ScheduleOrder::pairs_right, "predicted so", as::exact},
      {"fastest_measured", remark, run_at(&ScheduleOrder::fastest_measured), "fastest measured",
       schedule_at(&ScheduleOrder::fastest_measured), Align::left},
      {"fastest_predicted", remark, run_at(&ScheduleOrder::fastest_predicted), "fastest predicted",
       schedule_at(&ScheduleOrder::fastest_predicted), Align::left},
      {"choice_loss", value, &ScheduleOrder::loss, "choosing it loses", as::percent},
      {"limit", value, [limits](const ScheduleOrder&) { return limits.order; },
       limits.order ? "limit" : "", decimals},
      {"passed", state, passed, limits.order ? "verdict" : "", verdict, Align::left},
  };
}

/// Whether a table must name the links of a run.
bool has_several_links(const Validation& validation) {
  std::set<std::string> links;
  for (const RunValidation& run : validation.runs) {
    if (run.run.ranks > 1) links.insert(run.links);
  }
  return links.size() > 1;
}

/// Columns that distinguish the runs of a validation, for people.
Fields<RunValidation> shown_run(const Validation& validation) {
  using F = Field<RunValidation>;
  const auto of_run = [](const char* header, Look look, auto... path) {
    return F::table(header, via(&RunValidation::run, path...), look);
  };
  Fields<RunValidation> fields{
      of_run("network", as::words, &Run::network), of_run("batch", as::exact, &Run::batch),
      of_run("dtype", as::words, &Run::dtype, dtype_name),
      of_run("schedule", as::words, schedule_text), of_run("ranks", as::exact, &Run::ranks)};
  if (has_several_links(validation)) {
    fields.push_back(
        F::table("links", via(&RunValidation::links, text_or_null), as::words_or_dash));
  }
  const auto has_build = [](const RunValidation& run) { return !run.build.empty(); };
  if (std::ranges::any_of(validation.runs, has_build)) {
    fields.push_back(F::table("build", &RunValidation::build, as::words));
  }
  return fields;
}

/// Bottlenecks according to model and measurement. Phases count kernel launches as compute.
std::string bounds_text(const RunValidation& run) {
  const std::string& predicted = run.prediction.bound;
  const bool launches = predicted == "kernel launches" && run.measured_bound == "compute";
  if (launches || predicted == run.measured_bound) return predicted;
  return fmt::format("{} / {}", predicted, run.measured_bound);
}

std::string spread(const std::vector<double>& errors) {
  const auto [low, high] = std::minmax_element(errors.begin(), errors.end());
  return from_to(signed_percent(*low), signed_percent(*high));
}

Fields<PhaseError> phase_fields() {
  using enum Meaning;
  return {{"phase", key, &PhaseError::phase},
          {"predicted_s", value, &PhaseError::predicted},
          {"measured_s", value, &PhaseError::measured},
          {"error", value, &PhaseError::error},
          {"share_of_error", value, &PhaseError::share_of_error}};
}

/// "4.1 % to 11.7 %", of the median; empty without an interval.
std::string error_interval(const ErrorSummary& summary) {
  if (!summary.median_abs_low || !summary.median_abs_high) return "";
  return from_to(percent(*summary.median_abs_low), percent(*summary.median_abs_high));
}

/// A group of runs, for the table of errors and for JSON.
Fields<ErrorSummary> summary_fields(const Limits& limits) {
  using enum Meaning;
  const auto limit = [limits](const ErrorSummary& summary) { return limit_of(summary, limits); };
  const auto passed = [limit](const ErrorSummary& summary) {
    const auto its = limit(summary);
    return its ? std::optional(passes(summary, *its)) : std::nullopt;
  };
  return {
      {"group", key, &ErrorSummary::group, "group", as::words},
      {"runs", value, &ErrorSummary::runs, "runs", as::exact},
      {"workloads", value, &ErrorSummary::workloads, "workloads", as::exact},
      {"repeats", value, &ErrorSummary::repeats, "trainings", as::exact},
      {"bias", value, &ErrorSummary::bias, "bias", as::signed_percent},
      {"median_abs", value, &ErrorSummary::median_abs, "median", as::percent},
      {"median_abs_low", value, &ErrorSummary::median_abs_low},
      {"median_abs_high", value, &ErrorSummary::median_abs_high},
      Field<ErrorSummary>::table("95 % interval", error_interval),
      {"p90_abs", value, &ErrorSummary::p90_abs, "90 % within", as::percent},
      {"naive_median_abs", value, &ErrorSummary::naive_median_abs, "naive median", as::percent},
      {"limit", value, limit, "limit", as::percent},
      {"passed", state, passed, "verdict", via(passed, kept_cell), Align::left},
  };
}

/// A phase of a run: the row type of records.
struct PhaseRow {
  const RunValidation* run;
  const PhaseError* phase;
  const ScheduleOrder* order;  ///< the order that includes the run; null if there is none
  std::size_t place;           ///< index in that order
};

/// The order that includes a run, and its place there.
std::pair<const ScheduleOrder*, std::size_t> order_with(const Validation& validation,
                                                        std::size_t run) {
  for (const ScheduleOrder& order : validation.orders) {
    const auto found = std::ranges::find(order.runs, run);
    if (found != order.runs.end())
      return {&order, static_cast<std::size_t>(found - order.runs.begin())};
  }
  return {nullptr, 0};
}

Fields<PhaseRow> order_fields(const Validation& validation) {
  using enum Meaning;
  const auto if_any = [](auto get) {
    return [get](const PhaseRow& row) { return row.order ? get(row) : Json(nullptr); };
  };
  const auto of_order = [=](auto member) {
    return if_any([member](const PhaseRow& row) { return value_of(row.order->*member); });
  };
  const auto of_place = [=](auto member) {
    return if_any(
        [member](const PhaseRow& row) { return number((row.order->*member).at(row.place)); });
  };
  const auto fastest = [=, &validation](auto member) {
    return if_any([&validation, member](const PhaseRow& row) {
      const auto& run = ordered_run(validation, *row.order, row.order->*member);
      return Json(schedule_text(run.run));
    });
  };
  return {{"order_measured", value, of_place(&ScheduleOrder::measured_ranks)},
          {"order_predicted", value, of_place(&ScheduleOrder::predicted_ranks)},
          {"order_correlation", value, of_order(&ScheduleOrder::correlation)},
          {"order_pairs_apart", value, of_order(&ScheduleOrder::pairs_apart)},
          {"order_pairs_right", value, of_order(&ScheduleOrder::pairs_right)},
          {"fastest_measured", remark, fastest(&ScheduleOrder::fastest_measured)},
          {"fastest_predicted", remark, fastest(&ScheduleOrder::fastest_predicted)},
          {"choice_loss", value, of_order(&ScheduleOrder::loss)}};
}

Table records(const Validation& validation) {
  using enum Meaning;
  const auto of_run = [](auto... path) { return via(&PhaseRow::run, path...); };
  const auto run = [](const PhaseRow& row) -> const Run& { return row.run->run; };
  const auto phase = [](const PhaseRow& row) -> const PhaseError& { return *row.phase; };
  const auto fields = joined<PhaseRow>({
      {{"key", key, of_run(&RunValidation::key)}},
      part_of<PhaseRow>(picked(run_fields(), {"network", "batch", "dtype", "schedule", "ranks"}),
                        run),
      {{"backend", key, of_run(&RunValidation::backend)},
       {"repeats", value, of_run(&RunValidation::repeats)}},
      part_of<PhaseRow>(phase_fields(), phase),
      {{"blame", remark, of_run(&RunValidation::blame)}},
      part_of<PhaseRow>(picked(run_fields(), {"synchronisation"}), run),
      part_of<PhaseRow>(schedule_fields(), run),
      {{"links", key, of_run(&RunValidation::links)},
       {"build", key, of_run(&RunValidation::build)},
       {"t_iter_measured_low_s", value, of_run(&RunValidation::measured_low)},
       {"t_iter_measured_high_s", value, of_run(&RunValidation::measured_high)},
       {"bound_predicted", remark, of_run(&RunValidation::prediction, &model::Prediction::bound)},
       {"bound_measured", remark, of_run(&RunValidation::measured_bound)}},
      order_fields(validation),
  });
  std::vector<PhaseRow> rows;
  for (std::size_t i = 0; i < validation.runs.size(); ++i) {
    const auto [order, place] = order_with(validation, i);
    for (const PhaseError& each : validation.runs[i].phases) {
      rows.push_back({&validation.runs[i], &each, order, place});
    }
  }
  return records_of(fields, rows);
}

/// A run in JSON.
Fields<RunValidation> run_validation_fields() {
  using F = Field<RunValidation>;
  const auto run = [all = run_fields()](const RunValidation& it) { return object_of(all, it.run); };
  const auto prediction = [all = prediction_fields()](const RunValidation& it) {
    return object_of(all, it.prediction);
  };
  const auto phases = [all = phase_fields()](const RunValidation& it) {
    return list_of(all, it.phases);
  };
  return {
      F::json("key", &RunValidation::key),
      F::json("run", run),
      F::json("links", via(&RunValidation::links, text_or_null)),
      F::json("build", via(&RunValidation::build, text_or_null)),
      F::json("backend", &RunValidation::backend),
      F::json("repeats", &RunValidation::repeats),
      F::json("measured_t_iter_s", &RunValidation::measured),
      F::json("measured_t_iter_low_s", &RunValidation::measured_low),
      F::json("measured_t_iter_high_s", &RunValidation::measured_high),
      F::json("errors", &RunValidation::errors),
      F::json("phases", phases),
      F::json("blame", &RunValidation::blame),
      F::json("bound", &RunValidation::measured_bound),  // the prediction holds the predicted one
      F::json("naive_error", &RunValidation::naive_error),
      F::json("prediction", prediction),
  };
}

Json validation_object(const Validation& validation, const Limits& limits) {
  const ExitCode code = exit_code(validation, limits);
  return {{"passed", code == ExitCode::ok},
          {"verdict", verdict_word(code)},
          {"not_judged", validation.not_judged},  // the notes say why
          {"runs", list_of(run_validation_fields(), validation.runs)},
          {"summaries", list_of(summary_fields(limits), validation.summaries)},
          {"schedule_orders", list_of(order_fields(validation, limits), validation.orders)},
          {"notes", validation.notes}};
}

}  // namespace

Table runs_table(const Validation& validation) {
  using F = Field<RunValidation>;
  const auto of_iteration = [](auto member) { return via(&RunValidation::iteration, member); };
  Table table = table_of(
      joined<RunValidation>(
          {shown_run(validation),
           {F::table("predicted ms", of_iteration(&PhaseError::predicted), as::milliseconds),
            F::table("90 % interval", via(&RunValidation::prediction, predicted_interval_text)),
            F::table("measured ms", of_iteration(&PhaseError::measured), as::milliseconds),
            F::table("error", of_iteration(&PhaseError::error), as::signed_percent),
            F::table("of trainings", via(&RunValidation::errors, spread)),
            F::table("off by", &RunValidation::median_abs, as::percent),
            F::table("blame", &RunValidation::blame, as::words),
            F::table("bound by", bounds_text, as::words)}}),
      validation.runs);
  table.title = "Iteration, predicted against measured";
  table.notes = {
      "error = (predicted − measured) / measured; blame = the phase that adds most to it",
      "off by: median absolute error of the trainings of a configuration, which is a row",
      "the interval is that of the machine's fitted parameters, not of the model",
      "bound by: the work whose pace it goes at, messages under way while it computes counted, "
      "predicted / "
      "measured where these differ"};
  return table;
}

Table phases_table(const Validation& validation) {
  Fields<RunValidation> fields = shown_run(validation);
  for (std::size_t i = 0; i < iteration_phases.size(); ++i) {
    const auto cell = [i](const RunValidation& run) {
      const PhaseError& phase = run.phases.at(i + 1);
      const bool blamed = phase.phase == run.blame;
      return Cell{fmt::format("{} / {}{}", milliseconds(phase.predicted),
                              milliseconds(phase.measured), blamed ? " *" : ""),
                  blamed ? Tone::caution : Tone::plain};
    };
    fields.push_back(Field<RunValidation>::table(std::string(iteration_phases.at(i).series), cell));
  }
  Table table = table_of(fields, validation.runs);
  table.title = "Phases in ms, predicted / measured";
  table.notes = {
      "* the phase to blame for most of the error",
      "measured on the rank each iteration waited for; medians, so they need not add up"};
  return table;
}

Table errors_table(const Validation& validation, const Limits& limits) {
  Table table = table_of(filled(for_people(summary_fields(limits)), validation.summaries),
                         validation.summaries);
  table.title = "Error of the iteration by group, every training counted";
  table.notes = {
      "bias is the median signed error; median, its interval and 90 % are of the absolute error",
      "runs are configurations (network, batch, ranks, schedule), each of some trainings",
      "the interval takes each workload (network, batch, precision, links and ranks) as one value, "
      "and 6 at least: its schedules resemble each other",
      "naive: a model that says more ranks take as long as one, on the same runs"};
  for (const std::string& note : validation.notes) table.notes.push_back(note);
  return table;
}

Table orders_table(const Validation& validation, const Limits& limits) {
  Table table = table_of(order_fields(validation, limits), validation.orders);
  table.title = "Order of the schedules of a training, predicted against measured";
  table.notes = {
      "rank correlation: Spearman's, of the medians as they stand; – where all are predicted alike",
      "pairs apart: of schedules whose measured 95 % intervals do not overlap; predicted so: of "
      "these, those in the order measured",
      "choosing it loses: measured time of the one predicted fastest over that of the fastest, "
      "minus 1"};
  return table;
}

Document validation_document(const Validation& validation, const Limits& limits) {
  std::vector<Table> tables{runs_table(validation), phases_table(validation),
                            errors_table(validation, limits)};
  if (!validation.orders.empty()) tables.push_back(orders_table(validation, limits));
  return {verdict_sentence(validation, limits), std::move(tables), records(validation),
          json_answer(
              "dlscale.validation",
              [validation, limits] { return validation_object(validation, limits); },
              notes_with_kinds)};
}

}  // namespace dlscale::report
