#include "report/algorithm_tables.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity_text.hpp"
#include "core/statistics.hpp"
#include "report/axes.hpp"
#include "report/numbers.hpp"
#include "report/rates.hpp"

namespace dlscale::report {
namespace {

using Rows = std::vector<const Measurement*>;

/// How names of algorithms end whose filters are transformed once and kept.
constexpr std::string_view kept_filters = "_kept_filters";

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

bool usable(const Measurement& measurement) {
  return measurement.status == Status::ok || measurement.status == Status::unstable;
}

Seconds time_of(const Measurement& measurement) {
  return Seconds(measurement.at("time").summary.median);
}

std::string algorithm_of(const Measurement& measurement) {
  return axis_or_empty(measurement, "backend") + " " + axis_or_empty(measurement, "algorithm");
}

Rows rows_of(std::span<const ResultFile> results) {
  Rows rows;
  for (const ResultFile& file : results) {
    for (const Measurement& each : file.measurements) {
      if (names_algorithm(each) && axis_or_empty(each, "kernel").starts_with("convolution ")) {
        rows.push_back(&each);
      }
    }
  }
  return rows;
}

/// The network, or the list that a convolution stands in: those of lists are their own network,
/// named after both.
std::string set_of(const Measurement& measurement) {
  std::string network = axis_or_empty(measurement, "network");
  const std::string end = "_" + axis_or_empty(measurement, "layer");
  if (network.ends_with(end)) network.resize(network.size() - end.size());
  return network;
}

/// What algorithms are compared under: all axes but those that tell rows of a table apart.
Axes condition_of(const Measurement& measurement) {
  Axes condition = measurement.axes;
  for (const char* name : {"layer", "kernel", "pass", "backend", "algorithm", "repeat"}) {
    condition.erase(name);
  }
  condition["network"] = set_of(measurement);
  return condition;
}

std::string percent_or_empty(const std::optional<double>& share) {
  return share ? percent(*share) : "";
}

/// A layer in one pass, in the order of a network's passes.
struct Case {
  std::string layer;
  std::string kernel;
  std::size_t pass = 0;
  auto operator<=>(const Case&) const = default;
};

Case case_of(const Measurement& measurement) {
  const auto place = std::ranges::find(passes, axis_or_empty(measurement, "pass"), pass_name);
  return {axis_or_empty(measurement, "layer"), axis_or_empty(measurement, "kernel"),
          static_cast<std::size_t>(place - passes.begin())};
}

/// What was found by each algorithm; of repeated measurements the one in the middle.
using ByAlgorithm = std::map<std::string, const Measurement*>;

ByAlgorithm by_algorithm(const Rows& rows) {
  std::map<std::string, Rows> all;
  for (const Measurement* row : rows) all[algorithm_of(*row)].push_back(row);
  ByAlgorithm middle;
  for (auto& [algorithm, repeats] : all) {
    Rows timed = repeats;
    std::erase_if(timed, [](const Measurement* row) { return !usable(*row); });
    std::ranges::stable_sort(timed, {}, [](const Measurement* row) { return time_of(*row); });
    middle[algorithm] = timed.empty() ? repeats.front() : timed[timed.size() / 2];
  }
  return middle;
}

/// Filters transformed once and kept serve inference; training changes them every iteration, so
/// that such times do not compete with what it can use.
bool keeps_filters(const Measurement& measurement) {
  return axis_or_empty(measurement, "algorithm").ends_with(kept_filters);
}

/// Those with a time that training can reach, the fastest first.
Rows ranking(const ByAlgorithm& all) {
  Rows timed;
  for (const auto& [algorithm, row] : all) {
    if (usable(*row) && !keeps_filters(*row)) timed.push_back(row);
  }
  std::ranges::stable_sort(timed, {}, [](const Measurement* row) { return time_of(*row); });
  return timed;
}

/// What stands where no algorithm ran that training can use.
std::string none_ran(bool with_kept_filters) {
  return with_kept_filters ? "only with kept filters" : "none ran";
}

bool ran_with_kept_filters(const ByAlgorithm& all) {
  return std::ranges::any_of(
      all, [](const auto& found) { return usable(*found.second) && keeps_filters(*found.second); });
}

Cell time_cell(const ByAlgorithm& all, const std::string& algorithm) {
  const auto found = all.find(algorithm);
  if (found == all.end()) return {""};
  if (usable(*found->second)) return {milliseconds(time_of(*found->second))};
  const bool refused = found->second->status == Status::unsupported;
  return {refused ? "–" : std::string(status_name(found->second->status)),
          refused ? Tone::plain : Tone::bad};
}

std::vector<Cell> overview_cells(const Case& what, const ByAlgorithm& all,
                                 const std::set<std::string>& algorithms,
                                 const KernelStudy& study) {
  const std::size_t pass = what.pass;
  std::vector<Cell> cells{{what.layer},
                          {pass < passes.size() ? std::string(pass_name(passes.at(pass))) : ""},
                          {what.kernel.substr(what.kernel.find(' ') + 1)}};
  const Rows ranked = ranking(all);
  if (ranked.empty()) {
    cells.push_back({none_ran(ran_with_kept_filters(all)), Tone::caution});
    cells.resize(cells.size() + 4);
  } else {
    const Measurement& best = *ranked.front();
    const bool alone = ranked.size() == 1;
    cells.push_back({algorithm_of(best)});
    cells.push_back({alone ? "alone" : significant(time_of(*ranked[1]) / time_of(best), 3)});
    cells.push_back({giga(rates(best).flops)});
    cells.push_back({giga(rates(best).algorithmic)});
    cells.push_back({percent_or_empty(study.share(best))});
  }
  for (const std::string& algorithm : algorithms) cells.push_back(time_cell(all, algorithm));
  return cells;
}

using Conditions = std::map<Axes, std::map<Case, Rows>>;

Conditions by_condition(std::span<const ResultFile> results) {
  Conditions conditions;
  for (const Measurement* row : rows_of(results)) {
    conditions[condition_of(*row)][case_of(*row)].push_back(row);
  }
  return conditions;
}

Table overview(const Axes& condition, const std::map<Case, Rows>& cases, const KernelStudy& study) {
  std::set<std::string> algorithms;
  for (const auto& [what, rows] : cases) {
    for (const Measurement* row : rows) algorithms.insert(algorithm_of(*row));
  }
  Table table;
  table.title = "The fastest algorithm of each layer: " + constant_axes(std::span(&condition, 1));
  table.columns = {{"layer", Align::left},   {"pass", Align::left}, {"kernel", Align::left},
                   {"fastest", Align::left}, {"second / fastest"},  {"effective GFLOP/s"},
                   {"executed GFLOP/s"},     {"of roofline"}};
  for (const std::string& algorithm : algorithms) table.columns.push_back({algorithm + " ms"});
  for (const auto& [what, measured] : cases) {
    table.rows.push_back(overview_cells(what, by_algorithm(measured), algorithms, study));
  }
  table.notes = {
      "effective counts the operations of a direct convolution, executed those of the algorithm; "
      "of roofline: the least time that the measured ceilings allow the algorithm, over the time "
      "measured",
      "– : not offered for this shape; the tables by layer say why"};
  if (std::ranges::any_of(algorithms,
                          [](const std::string& each) { return each.ends_with(kept_filters); })) {
    table.notes.push_back(
        "kept_filters: by filters transformed before, as inference can and training cannot; not "
        "among the fastest");
  }
  return table;
}

/// A column of the table of a layer, left out where it is empty in all rows.
struct Field {
  Column column;
  std::function<std::string(const Measurement&)> text;
};

template <class Value, class Text>
std::string if_there(const std::optional<Value>& value, Text text) {
  return value ? text(*value) : "";
}

std::string error_text(const std::optional<double>& error) {
  return if_there(error, [](double value) { return fmt::format("{:.1e}", value); });
}

std::string interval_text(const Measurement& measurement) {
  if (!usable(measurement)) return "";
  return "±" + percent(relative_half_width(measurement.at("time").summary));
}

std::string intensity_text(const Measurement& measurement) {
  return if_there(measurement.algorithmic_work, [](const Work& work) {
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

std::vector<Field> axis_fields(const Rows& rows) {
  std::vector<Axes> all;
  for (const Measurement* row : rows) {
    all.push_back(row->axes);
    for (const char* told : {"pass", "backend", "algorithm"}) all.back().erase(told);
  }
  std::vector<Field> fields;
  for (const std::string& name : varying_axes(all)) {
    fields.push_back({{name, Align::left},
                      [name](const Measurement& each) { return axis_or_empty(each.axes, name); }});
  }
  return fields;
}

std::vector<Field> detail_fields(const Rows& rows, const KernelStudy& study) {
  std::vector<Field> fields{
      {{"algorithm", Align::left}, algorithm_of},
      {{"pass", Align::left}, [](const Measurement& each) { return axis_or_empty(each, "pass"); }}};
  std::ranges::move(axis_fields(rows), std::back_inserter(fields));
  const auto add = [&fields](const char* heading, auto text) {
    fields.push_back({{heading}, std::move(text)});
  };
  add("ms", [](const Measurement& m) { return usable(m) ? milliseconds(time_of(m)) : ""; });
  add("95 %", interval_text);
  add("effective GFLOP/s", [](const Measurement& m) { return giga(rates(m).flops); });
  add("executed GFLOP/s", [](const Measurement& m) { return giga(rates(m).algorithmic); });
  add("executed FLOP/B", intensity_text);
  add("of roofline", [&study](const Measurement& m) { return percent_or_empty(study.share(m)); });
  add("workspace", [](const Measurement& m) {
    return if_there(m.workspace, [](Bytes bytes) { return to_text(bytes); });
  });
  add("creation ms", [](const Measurement& m) { return if_there(m.creation, milliseconds); });
  add("max error", [](const Measurement& m) { return error_text(m.max_relative_error); });
  add("mean error", [](const Measurement& m) { return error_text(m.mean_relative_error); });
  fields.push_back({{"ran", Align::left}, what_ran});
  std::erase_if(fields, [&rows](const Field& field) {
    return std::ranges::all_of(rows,
                               [&](const Measurement* row) { return field.text(*row).empty(); });
  });
  return fields;
}

/// Passes in their order, then the rest as axes are read, the fastest algorithm first.
void sort_rows(Rows& rows) {
  const auto place = [](const Measurement* row) {
    Axes rest = condition_of(*row);
    const double time = usable(*row) ? time_of(*row).si() : 0;
    return std::tuple(case_of(*row).pass, std::stoll("0" + rest["batch"]), rest, !usable(*row),
                      time);
  };
  std::ranges::stable_sort(rows, {}, place);
}

/// "vgg16 conv1_2", and how many layers more there are.
std::string layers_text(const Rows& rows) {
  std::set<std::string> names;
  for (const Measurement* row : rows)
    names.insert(set_of(*row) + " " + axis_or_empty(*row, "layer"));
  const auto more = static_cast<long long>(names.size()) - 1;
  return *names.begin() + (more > 0 ? " and " + counted(more, "layer") + " more" : "");
}

/// All that was measured of a kernel.
Table details(const std::string& title, Rows rows, const KernelStudy& study) {
  sort_rows(rows);
  const std::vector<Field> fields = detail_fields(rows, study);
  Table table;
  table.title = title;
  for (const Field& field : fields) table.columns.push_back(field.column);
  for (const Measurement* row : rows) {
    std::vector<Cell> cells;
    cells.reserve(fields.size());
    const Tone tone = row->status == Status::ok ? Tone::plain : Tone::caution;
    for (const Field& field : fields) cells.push_back({field.text(*row), tone});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

std::string fastest_sentence(std::span<const ResultFile> results) {
  std::map<std::string, long long> wins;
  long long all = 0;
  bool with_kept_filters = false;
  for (const auto& [condition, cases] : by_condition(results)) {
    for (const auto& [what, rows] : cases) {
      const ByAlgorithm found = by_algorithm(rows);
      const Rows ranked = ranking(found);
      if (ranked.empty()) {
        with_kept_filters = with_kept_filters || ran_with_kept_filters(found);
        continue;
      }
      ++wins[algorithm_of(*ranked.front())];
      ++all;
    }
  }
  std::vector<std::pair<long long, std::string>> ordered;
  ordered.reserve(wins.size());
  for (const auto& [algorithm, count] : wins) ordered.emplace_back(count, algorithm);
  std::ranges::stable_sort(ordered, std::greater{}, [](const auto& win) { return win.first; });
  std::vector<std::string> parts;
  parts.reserve(ordered.size());
  for (const auto& [count, algorithm] : ordered) {
    parts.push_back(fmt::format("{} at {}", algorithm, count));
  }
  return fmt::format(
      "The fastest algorithm of {}: {}.",
      counted(all, "measured case") + " (layer, pass and batch)",
      parts.empty() ? none_ran(with_kept_filters) : fmt::format("{}", fmt::join(parts, ", ")));
}

std::vector<Table> fastest_tables(std::span<const ResultFile> results, const KernelStudy& study) {
  std::vector<Table> tables;
  for (const auto& [condition, cases] : by_condition(results)) {
    tables.push_back(overview(condition, cases, study));
  }
  return tables;
}

std::vector<Table> layer_tables(std::span<const ResultFile> results, const KernelStudy& study) {
  std::map<std::string, Rows> kernels;  // of all passes and batches
  for (const Measurement* row : rows_of(results))
    kernels[axis_or_empty(*row, "kernel")].push_back(row);
  std::vector<Table> tables;
  tables.reserve(kernels.size());
  for (const auto& [kernel, rows] : kernels) {
    tables.push_back(details(layers_text(rows) + ": " + kernel, rows, study));
  }
  std::ranges::stable_sort(tables, {}, &Table::title);
  return tables;
}

}  // namespace dlscale::report
