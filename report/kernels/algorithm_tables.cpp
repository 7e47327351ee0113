#include "report/kernels/algorithm_tables.hpp"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {
namespace {

std::string percent_or_empty(const std::optional<double>& share) {
  return share ? percent(*share) : "";
}

Cell time_cell(const ByAlgorithm& all, const std::string& algorithm) {
  const auto found = all.find(algorithm);
  if (found == all.end()) return {""};
  if (is_timed(*found->second)) return {milliseconds(time_of(*found->second))};
  const bool refused = found->second->status == Status::unsupported;
  return {refused ? "–" : std::string(status_name(found->second->status)),
          refused ? Tone::plain : Tone::bad};
}

constexpr const char* executed_note =
    "executed counts the operations of the algorithm; of a direct convolution those on pixels of "
    "the image, not on its padding";

std::string executed_text(const Measurement& measurement, const KernelStudy& study) {
  const std::optional<Work> work = study.executed(measurement);
  if (!is_timed(measurement) || !work || !(work->flops > Flops{})) return "";
  return giga(work->flops / time_of(measurement));
}

std::vector<Cell> overview_cells(const Case& what, const Rows& measured,
                                 const std::set<std::string>& algorithms,
                                 const KernelStudy& study) {
  std::vector<Cell> cells{{what.layer}, {what.pass_text()}, {what.shape_text()}};
  const ByAlgorithm all = by_algorithm(measured);
  const Rows ranked = ranking(all);
  if (ranked.empty()) {
    cells.push_back({none_ran(ran_with_kept_filters(all)), Tone::caution});
    cells.resize(cells.size() + 4);
  } else {
    const Measurement& best = *ranked.front();
    const bool alone = ranked.size() == 1;
    cells.push_back({algorithm_of(best)});
    cells.push_back(
        {alone ? "alone"
               : significant(time_of(*ranked[1]) / time_of(best), 3) + tie_text(measured)});
    cells.push_back({giga(rates(best).flops)});
    cells.push_back({executed_text(best, study)});
    cells.push_back({percent_or_empty(study.share(best))});
  }
  for (const std::string& algorithm : algorithms) cells.push_back(time_cell(all, algorithm));
  return cells;
}

Table overview(const Axes& condition, const std::map<Case, Rows>& cases, const KernelStudy& study) {
  std::set<std::string> algorithms;
  bool kept = false;
  for (const auto& [what, rows] : cases) {
    for (const Measurement* row : rows) algorithms.insert(algorithm_of(*row));
    kept = kept || std::ranges::any_of(rows, [](const auto* row) { return keeps_filters(*row); });
  }
  Table table;
  table.title = "Times by algorithm: " + condition_text(condition);
  table.columns = {{"layer", Align::left},   {"pass", Align::left}, {"kernel", Align::left},
                   {"fastest", Align::left}, {"second / fastest"},  {"effective GFLOP/s"},
                   {"executed GFLOP/s"},     {"of roofline"}};
  for (const std::string& algorithm : algorithms) table.columns.push_back({algorithm + " ms"});
  for (const auto& [what, measured] : cases) {
    table.rows.push_back(overview_cells(what, measured, algorithms, study));
  }
  table.notes = {std::string(speed_note), executed_note, std::string(tie_note),
                 "– : not offered for this shape; the tables by layer say why"};
  if (kept) table.notes.emplace_back(kept_filters_note);
  return table;
}

/// The rows themselves, not pointers to them.
auto measured(const Rows& rows) {
  return rows |
         std::views::transform([](const Measurement* row) -> const Measurement& { return *row; });
}

/// Columns of a layer's table.
using DetailField = Field<Measurement>;
using DetailFields = Fields<Measurement>;

template <class Value, class Text>
std::string if_there(const std::optional<Value>& value, Text text) {
  return value ? text(*value) : "";
}

std::string time_interval(const Measurement& measurement) {
  return is_timed(measurement) ? interval_text(measurement.at("time").summary) : "";
}

std::string intensity_text(const Measurement& measurement, const KernelStudy& study) {
  return if_there(study.executed(measurement), [](const Work& work) {
    return work.bytes.si() > 0 ? significant((work.flops / work.bytes).si(), 3) : "";
  });
}

std::string what_ran(const Measurement& measurement) {
  if (measurement.status == Status::ok) return measurement.implementation;
  const std::string what =
      measurement.implementation.empty() ? "" : measurement.implementation + "; ";
  const std::string why = measurement.reason.empty() ? "" : ": " + measurement.reason;
  return what + std::string(status_name(measurement.status)) + why;
}

DetailFields axis_fields(const Rows& rows) {
  std::vector<Axes> all;
  for (const Measurement* row : rows) {
    all.push_back(row->axes);
    for (const char* told : {"pass", "backend", "algorithm"}) all.back().erase(told);
  }
  DetailFields fields;
  for (const std::string& name : varying_axes(all)) {
    fields.push_back(DetailField::table(
        name, [name](const Measurement& each) { return axis_or_empty(each.axes, name); },
        Align::left));
  }
  return fields;
}

DetailFields detail_fields(const Rows& rows, const KernelStudy& study) {
  DetailFields fields{
      DetailField::table("algorithm", algorithm_of, Align::left),
      DetailField::table(
          "pass", [](const Measurement& each) { return axis_or_empty(each, "pass"); },
          Align::left)};
  for (DetailField& field : axis_fields(rows)) fields.push_back(std::move(field));
  const auto add = [&fields](const char* heading, auto text) {
    fields.push_back(DetailField::table(heading, std::move(text)));
  };
  add("ms", [](const Measurement& m) { return is_timed(m) ? milliseconds(time_of(m)) : ""; });
  add("95 %", time_interval);
  add("effective GFLOP/s", [](const Measurement& m) { return giga(rates(m).flops); });
  add("executed GFLOP/s", [&study](const Measurement& m) { return executed_text(m, study); });
  add("executed FLOP/B", [&study](const Measurement& m) { return intensity_text(m, study); });
  add("of roofline", [&study](const Measurement& m) { return percent_or_empty(study.share(m)); });
  add("workspace", [](const Measurement& m) {
    return if_there(m.workspace, [](Bytes bytes) { return to_text(bytes); });
  });
  add("creation ms", [](const Measurement& m) { return if_there(m.creation, milliseconds); });
  add("max error", [](const Measurement& m) { return if_there(m.max_relative_error, scientific); });
  add("mean error",
      [](const Measurement& m) { return if_there(m.mean_relative_error, scientific); });
  fields.push_back(DetailField::table("ran", what_ran, Align::left));
  return filled(std::move(fields), measured(rows));
}

/// Sorts by pass, then by the remaining axes, fastest algorithm first.
void sort_rows(Rows& rows) {
  const auto place = [](const Measurement* row) {
    Axes rest = condition_of(*row);
    const double time = is_timed(*row) ? time_of(*row).si() : 0;
    return std::tuple(case_of(*row).pass, std::stoll("0" + rest["batch"]), rest, !is_timed(*row),
                      time);
  };
  std::ranges::stable_sort(rows, {}, place);
}

/// "vgg16 conv1_2", and the number of further layers.
std::string layers_text(const Rows& rows) {
  std::set<std::string> names;
  for (const Measurement* row : rows)
    names.insert(set_of(*row) + " " + axis_or_empty(*row, "layer"));
  const auto more = static_cast<long long>(names.size()) - 1;
  return *names.begin() + (more > 0 ? " and " + counted(more, "layer") + " more" : "");
}

/// All measurements of a kernel.
Table details(const std::string& title, Rows rows, const KernelStudy& study) {
  sort_rows(rows);
  Table table = table_of(detail_fields(rows, study), measured(rows));
  table.title = title;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]->status == Status::ok) continue;
    for (Cell& cell : table.rows[i]) cell.tone = Tone::caution;
  }
  return table;
}

/// All measurements of a kernel, and the first set that contains it.
struct KernelTable {
  std::string set;
  Table table;
};

std::vector<KernelTable> kernel_tables(std::span<const ResultFile> results,
                                       const KernelStudy& study) {
  std::map<std::string, Rows> kernels;  // kernels of all passes and batches
  for (const Measurement* row : algorithm_rows(results))
    kernels[axis_or_empty(*row, "kernel")].push_back(row);
  std::vector<KernelTable> tables;
  tables.reserve(kernels.size());
  for (const auto& [kernel, rows] : kernels) {
    std::set<std::string> sets;
    for (const Measurement* row : rows) sets.insert(set_of(*row));
    tables.push_back({*sets.begin(), details(layers_text(rows) + ": " + kernel, rows, study)});
  }
  std::ranges::stable_sort(tables, {}, [](const KernelTable& each) { return each.table.title; });
  return tables;
}

}  // namespace

std::map<std::string, std::vector<Table>> tables_by_set(std::span<const ResultFile> results,
                                                        const KernelStudy& study) {
  std::map<std::string, std::vector<Table>> sets;
  for (const auto& [condition, cases] : by_condition(results)) {
    sets[condition.at("network")].push_back(overview(condition, cases, study));
  }
  for (KernelTable& each : kernel_tables(results, study)) {
    sets[each.set].push_back(std::move(each.table));
  }
  return sets;
}

}  // namespace dlscale::report
