#include "report/kernels/algorithm_tables.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

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

/// Counts and speeds of an algorithm over all cases.
struct Tally {
  long long ran = 0, fastest = 0, tied = 0, refused = 0, failed = 0, not_measured = 0;
  bool competes = true;
  std::vector<double> over_fastest;
  std::vector<double> effective;  ///< operations/s
  std::vector<double> shares;     ///< fractions of the roofline
};

/// Adds a row of a case to the tally; `leading` are the leaders() of the case.
void count(Tally& tally, const Measurement& row, const Rows& leading, const KernelStudy& study) {
  tally.competes = !keeps_filters(row);
  if (!is_timed(row)) {
    ++(row.status == Status::unsupported ? tally.refused : tally.failed);
    return;
  }
  ++tally.ran;
  if (!leading.empty()) {
    if (std::ranges::find(leading, &row) != leading.end()) {
      ++(leading.size() == 1 ? tally.fastest : tally.tied);
    }
    tally.over_fastest.push_back(time_of(row) / time_of(*leading.front()));
  }
  if (const auto rate = rates(row).flops) tally.effective.push_back(rate->si());
  if (const auto share = study.share(row)) tally.shares.push_back(*share);
}

/// A condition without network and batch. Algorithms measured in one setting can be measured at all
/// its cases.
Axes setting_without_case(Axes condition) {
  condition.erase("network");
  condition.erase("batch");
  return condition;
}

/// Competing algorithms that were measured at some case of each setting.
using Rivals = std::map<Axes, std::set<std::string>>;

Rivals rivals_of(const std::vector<Found>& cases) {
  Rivals rivals;
  for (const Found& found : cases) {
    std::set<std::string>& mine = rivals[setting_without_case(found.condition)];
    for (const auto& [algorithm, row] : found.by) {
      if (!keeps_filters(*row)) mine.insert(algorithm);
    }
  }
  return rivals;
}

/// Rivals without a row at the case.
std::vector<std::string> not_measured_at(const Found& found, const Rivals& rivals) {
  std::vector<std::string> absent;
  std::ranges::copy_if(
      rivals.at(setting_without_case(found.condition)), std::back_inserter(absent),
      [&found](const std::string& algorithm) { return !found.by.contains(algorithm); });
  return absent;
}

std::map<std::string, Tally> tallies(std::span<const ResultFile> results,
                                     const KernelStudy& study) {
  const std::vector<Found> cases = found_cases(results);
  const Rivals rivals = rivals_of(cases);
  std::map<std::string, Tally> all;
  for (const Found& found : cases) {
    const Rows leading = leaders(found.rows);
    for (const auto& [algorithm, row] : found.by) count(all[algorithm], *row, leading, study);
    for (const std::string& algorithm : not_measured_at(found, rivals)) {
      ++all[algorithm].not_measured;
    }
  }
  return all;
}

template <class Text>
std::string median_text(const std::vector<double>& values, Text text) {
  return values.empty() ? "" : text(median(values));
}

std::string gigaflops(double rate) {
  return giga(FlopsPerSecond(rate));
}

std::vector<Cell> tally_cells(const std::string& algorithm, const Tally& tally) {
  const auto& effective = tally.effective;
  const std::string most = effective.empty() ? "" : gigaflops(std::ranges::max(effective));
  return {{algorithm},
          {std::to_string(tally.ran)},
          {tally.competes ? std::to_string(tally.fastest) : "–"},
          {tally.competes ? std::to_string(tally.tied) : "–"},
          {std::to_string(tally.refused)},
          {std::to_string(tally.failed), tally.failed > 0 ? Tone::bad : Tone::plain},
          {tally.competes ? std::to_string(tally.not_measured) : "–",
           tally.not_measured > 0 ? Tone::caution : Tone::plain},
          {median_text(tally.over_fastest, [](double value) { return significant(value, 3); })},
          {median_text(effective, gigaflops)},
          {most},
          {median_text(tally.shares, percent)}};
}

/// Errors of an algorithm in a pass.
struct Errors {
  std::vector<double> largest, mean;
};

/// A qualification of a comparison of `all` cases; empty if it is complete.
std::string incomplete_text(long long incomplete, long long all) {
  if (incomplete == 0) return "";
  return fmt::format(
      " {} cases lack algorithms that were measured in others, and that may be faster.",
      incomplete == all ? "All" : std::to_string(incomplete));
}

/// The algorithms by the number of cases at which they are the fastest.
struct Race {
  std::vector<std::pair<long long, std::string>> ordered;  ///< wins, the most first
  long long all = 0;
  long long ties = 0;
  long long unknown = 0;
  long long incomplete = 0;
  bool with_kept_filters = false;
};

Race race_of(std::span<const ResultFile> results) {
  Race race;
  std::map<std::string, long long> wins;
  const std::vector<Found> cases = found_cases(results);
  const Rivals rivals = rivals_of(cases);
  for (const Found& found : cases) {
    const Rows leading = leaders(found.rows);
    if (leading.empty()) {
      race.with_kept_filters = race.with_kept_filters || ran_with_kept_filters(found.by);
      continue;
    }
    ++race.all;
    race.incomplete += not_measured_at(found, rivals).empty() ? 0 : 1;
    if (leading.size() == 1) {
      ++wins[algorithm_of(*leading.front())];
    } else {
      ++(tie_text(found.rows) == " (tie)" ? race.ties : race.unknown);
    }
  }
  for (const auto& [algorithm, times] : wins) race.ordered.emplace_back(times, algorithm);
  std::ranges::stable_sort(race.ordered, std::greater{}, [](const auto& win) { return win.first; });
  return race;
}

/// "onednn direct is fastest in 205 of 372 measured cases, native fft in 5."
std::string wins_text(const Race& race, const std::string& cases) {
  constexpr std::size_t most_named = 4;
  if (race.ordered.empty()) return fmt::format("No algorithm is alone the fastest in {}.", cases);
  std::string text = fmt::format("{} is fastest in {} of {}", race.ordered.front().second,
                                 race.ordered.front().first, cases);
  for (std::size_t i = 1; i < std::min(race.ordered.size(), most_named); ++i) {
    text += fmt::format(", {} in {}", race.ordered[i].second, race.ordered[i].first);
  }
  if (race.ordered.size() > most_named) {
    text += fmt::format(" and {} in fewer each", race.ordered.size() - most_named);
  }
  return text + ".";
}

}  // namespace

std::string fastest_sentence(std::span<const ResultFile> results) {
  const Race race = race_of(results);
  const std::string cases = counted(race.all, "measured case") + " (layer, pass and batch)";
  if (race.all == 0) {
    return fmt::format("The fastest algorithm of {}: {}.", cases, none_ran(race.with_kept_filters));
  }
  std::string text = wins_text(race, cases);
  if (race.ties > 0) {
    text += fmt::format(" {}, as 95 % intervals overlap.",
                        race.ties == 1 ? "1 is a tie" : fmt::format("{} are ties", race.ties));
  }
  if (race.unknown > 0) {
    text += fmt::format(" {} not known, as fewer than 6 samples have no 95 % interval.",
                        race.unknown == 1 ? "1 is" : fmt::format("{} are", race.unknown));
  }
  return text + incomplete_text(race.incomplete, race.all);
}

std::optional<MostOftenFastest> most_often_fastest(std::span<const ResultFile> results) {
  const Race race = race_of(results);
  if (race.all == 0) return std::nullopt;
  MostOftenFastest most{"", 0, race.ties, race.unknown, race.all};
  if (!race.ordered.empty()) std::tie(most.wins, most.algorithm) = race.ordered.front();
  return most;
}

Table algorithms_table(std::span<const ResultFile> results, const KernelStudy& study) {
  Table table;
  table.title = "The algorithms over all measured cases";
  table.columns = {{"algorithm", Align::left},
                   {"ran at"},
                   {"fastest at"},
                   {"tied at"},
                   {"not offered at"},
                   {"failed at"},
                   {"not measured at"},
                   {"time / fastest, median"},
                   {"effective GFLOP/s, median"},
                   {"most"},
                   {"of roofline, median"}};
  bool kept = false;
  for (const auto& [algorithm, tally] : tallies(results, study)) {
    table.rows.push_back(tally_cells(algorithm, tally));
    kept = kept || !tally.competes;
  }
  table.notes = {
      "a case is a layer in a pass with a batch under one condition; failed: a wrong answer, or "
      "interrupted; not measured: nothing was found of it there, though it was measured elsewhere "
      "under the same condition but for network and batch",
      "fastest: ahead of all others by more than the 95 % intervals; tied: its interval overlaps "
      "that of the fastest, or another's overlaps its own where it is that, or one of them has "
      "none, for which it takes 6 samples",
      std::string(speed_note)};
  if (kept) table.notes.emplace_back(kept_filters_note);
  return table;
}

Table answers_table(std::span<const ResultFile> results) {
  std::map<std::string, std::map<std::size_t, Errors>> errors;
  std::map<std::size_t, std::string> there;
  for (const Measurement* row : algorithm_rows(results)) {
    if (!row->max_relative_error) continue;
    const Case what = case_of(*row);
    there[what.pass] = what.pass_text();
    Errors& mine = errors[algorithm_of(*row)][what.pass];
    mine.largest.push_back(*row->max_relative_error);
    if (row->mean_relative_error) mine.mean.push_back(*row->mean_relative_error);
  }
  Table table;
  table.title = "Errors against double precision";
  table.columns = {{"algorithm", Align::left}};
  for (const auto& [pass, name] : there) {
    table.columns.push_back({name + " largest"});
    table.columns.push_back({name + " mean"});
  }
  for (const auto& [algorithm, by_pass] : errors) {
    std::vector<Cell> cells{{algorithm}};
    for (const auto& [pass, name] : there) {
      const auto found = by_pass.find(pass);
      const bool has = found != by_pass.end();
      cells.push_back({has ? scientific(std::ranges::max(found->second.largest)) : ""});
      cells.push_back({has ? median_text(found->second.mean, scientific) : ""});
    }
    table.rows.push_back(std::move(cells));
  }
  if (table.rows.empty()) return table;
  table.notes = {
      "largest: of all elements checked in all cases; mean: over the elements of a case, in the "
      "median of cases"};
  return table;
}

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
