#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/answers/plan_names.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/parallel/parallel_memory.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

/// A rank's memory at its fullest moment.
struct MemoryRow {
  std::string name;        ///< "batch 32", "stage 1"
  std::string group = {};  ///< the plan; empty for batches
  std::vector<figure::StackPart> kinds = {};
  double total = 0;  ///< bytes
  std::optional<double> low = {};
  std::optional<double> high = {};
  double device = 0;        ///< bytes that a process can allocate; 0 if unknown
  std::string fits = {};    ///< empty for stages that are not the fullest of their plan
  std::string caveat = {};  ///< framework_clause()
  double states = 0;        ///< bytes of parameters and states; 0 if unknown
  double least_states = 0;  ///< the least that these may take; 0 if unknown
};

/// A change by which a plan fits.
struct MemoryRemedy {
  std::string plan;
  std::string change;
  double seconds = 0;  ///< of an iteration
  bool surely = false;
};

/// All that was asked.
struct MemoryAnswer {
  std::vector<MemoryRow> rows = {};
  std::vector<MemoryRemedy> remedies = {};
  bool of_plans = false;

  /// The range of a row in words: of networks without plans, it has no probability.
  [[nodiscard]] const char* range() const { return of_plans ? "90 % interval" : "least to most"; }
};

/// Keys that are sums, ends or limits, and no kind of memory.
bool is_kind(std::string_view key) {
  constexpr std::string_view ending = "_bytes";
  for (const char* other :
       {"total_bytes", "least_bytes", "most_bytes", "least_states_bytes", "memory_bytes",
        "memory_low_bytes", "memory_high_bytes", "device_memory_bytes"}) {
    if (key == other) return false;
  }
  return key.ends_with(ending);
}

/// The verdict of a training or plan. Throws ConfigError if it is empty, since rows without one are
/// of stages.
std::string verdict_in(const Json& one) {
  auto verdict = one.at("fits").get<std::string>();
  if (verdict.empty()) throw ConfigError("its \"fits\" is empty");
  return verdict;
}

/// The kinds of an object in its order, under the names of its tables: "optimiser" for the sum of
/// "main_weights_bytes" and "moments_bytes".
std::vector<figure::StackPart> kinds_of(const Json& object,
                                        const std::function<std::string(std::string_view)>& shown) {
  std::vector<figure::StackPart> kinds;
  for (const auto& [key, value] : object.items()) {
    if (!is_kind(key)) continue;
    std::string name = key.substr(0, key.rfind('_'));
    std::ranges::replace(name, '_', ' ');
    name = shown(name);
    const auto known = std::ranges::find(kinds, name, &figure::StackPart::name);
    if (known == kinds.end()) {
      kinds.push_back({std::move(name), value.get<double>()});
    } else {
      known->value += value.get<double>();
    }
  }
  return kinds;
}

/// Names of the table of a network without a plan.
std::string shown_of_network(std::string_view kind) {
  if (kind == "activations") return "outputs";
  return std::string(kind == "next batch" ? "input" : kind);
}

/// Parameters and states by that key together; 0 in answers of earlier versions.
double with_parameters(const Json& one, const char* key) {
  const auto parameters = number_in(one, "parameters_bytes");
  const auto states = number_in(one, key);
  return parameters && states ? *parameters + *states : 0;
}

MemoryRow row_of_training(const Json& one) {
  return {"batch " + one.at("batch").dump(),
          "",
          kinds_of(one, shown_of_network),
          one.at("total_bytes").get<double>(),
          number_in(one, "least_bytes"),
          number_in(one, "most_bytes"),
          one.at("memory_bytes").get<double>(),
          verdict_in(one),
          "",
          with_parameters(one, "states_bytes"),
          with_parameters(one, "least_states_bytes")};
}

MemoryRow row_of_plan(const Json& plan, const std::string& name) {
  const double need = plan.at("memory_bytes").get<double>();
  const auto stage = plan.find("fullest_stage");
  return {stage == plan.end() ? "each rank" : "stage " + stage->dump(),
          name,
          {{"memory", need}},
          need,
          number_in(plan, "memory_low_bytes"),
          number_in(plan, "memory_high_bytes"),
          plan.at("device_memory_bytes").get<double>(),
          verdict_in(plan),
          framework_clause(plan)};
}

/// A stage at a moment. Stages that CNNs are cut into count from 0 and have one moment.
MemoryRow row_of_stage(const Json& plan, const Json& moment, const std::string& name) {
  const bool has_moments = moment.contains("moment");
  const long long number = moment.at("stage").get<long long>() + (has_moments ? 0 : 1);
  return {fmt::format("stage {}", number),
          name,
          kinds_of(moment, shown_kind),
          moment.at(has_moments ? "total_bytes" : "memory_bytes").get<double>(),
          {},
          {},
          plan.at("device_memory_bytes").get<double>()};
}

/// A row for each stage of a plan at its fullest moment; the fullest has the verdict and its
/// interval.
void append_stages(std::vector<MemoryRow>& all, const Json& plan, const std::string& name) {
  std::vector<MemoryRow> rows;
  for (const Json& moment : plan.at("stages")) {
    MemoryRow stage = row_of_stage(plan, moment, name);
    const auto known = std::ranges::find(rows, stage.name, &MemoryRow::name);
    if (known == rows.end()) {
      rows.push_back(std::move(stage));
    } else if (stage.total > known->total) {
      *known = std::move(stage);
    }
  }
  if (rows.empty()) throw ConfigError("its list \"stages\" is empty");
  if (rows.size() == 1) rows.front().name = "each rank";
  MemoryRow& fullest = *std::ranges::max_element(rows, {}, &MemoryRow::total);
  const MemoryRow whole = row_of_plan(plan, name);
  fullest.fits = whole.fits;
  fullest.caveat = whole.caveat;
  fullest.low = whole.low;
  fullest.high = whole.high;
  std::ranges::move(rows, std::back_inserter(all));
}

void append_remedies(std::vector<MemoryRemedy>& remedies, const Json& plan,
                     const std::string& name) {
  const auto changes = plan.find("would_fit");
  if (changes == plan.end()) return;
  for (const Json& one : *changes) {
    remedies.push_back({name, one.at("change").get<std::string>(), one.at("t_iter_s").get<double>(),
                        one.at("surely").get<bool>()});
  }
}

MemoryAnswer answer_of(const Json& answer) {
  MemoryAnswer all;
  all.of_plans = answer.contains("plans");
  if (!all.of_plans) {
    for (const Json& one : answer.at("trainings")) all.rows.push_back(row_of_training(one));
    return all;
  }
  const Json& plans = answer.at("plans");
  const PlanNames names(plans);
  for (const Json& plan : plans) {
    const std::string name = names(plan);
    if (plan.contains("stages")) {
      append_stages(all.rows, plan, name);
    } else {
      all.rows.push_back(row_of_plan(plan, name));
    }
    append_remedies(all.remedies, plan, name);
  }
  return all;
}

/// The rows with a verdict: a batch each, or the fullest stage of a plan each.
std::vector<MemoryRow> judged_of(const std::vector<MemoryRow>& rows) {
  std::vector<MemoryRow> judged;
  std::ranges::copy_if(rows, std::back_inserter(judged),
                       [](const MemoryRow& row) { return !row.fits.empty(); });
  return judged;
}

bool does_fit(const MemoryRow& row) {
  return row.fits == "yes" || row.fits == "likely";
}

/// Whether a rank cannot hold the network with any batch.
bool is_never_fitting(const MemoryRow& row) {
  return row.device > 0 && row.least_states > row.device;
}

/// The row that answers: the largest batch that fits, the plan that needs least; if none fits, what
/// needs least.
MemoryRow answering_row(const MemoryAnswer& all) {
  std::vector<MemoryRow> rows = judged_of(all.rows);
  if (std::ranges::any_of(rows, does_fit)) std::erase_if(rows, std::not_fn(does_fit));
  const auto [least, most] = std::ranges::minmax_element(rows, {}, &MemoryRow::total);
  return does_fit(*most) && !all.of_plans ? *most : *least;
}

std::string interval_of_row(const MemoryRow& row) {
  return row.low && row.high ? from_to(gigabytes(*row.low), gigabytes(*row.high)) : "";
}

/// The kinds by size in the fullest row; those below 3 % of it, and those beyond six, are "other".
std::vector<std::string> main_kinds(const MemoryRow& fullest) {
  constexpr std::size_t most = 6;
  std::vector<figure::StackPart> kinds = fullest.kinds;
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &figure::StackPart::value);
  std::vector<std::string> names;
  for (const figure::StackPart& kind : kinds) {
    if (names.size() < most && kind.value > 0.03 * fullest.total) names.push_back(kind.name);
  }
  return names;
}

/// "other" for the kinds that are none of these, or the name of the only one.
std::string name_of_rest(const std::vector<MemoryRow>& rows,
                         const std::vector<std::string>& names) {
  std::set<std::string> rest;
  for (const MemoryRow& row : rows) {
    for (const figure::StackPart& kind : row.kinds) {
      if (kind.value > 0) rest.insert(kind.name);
    }
  }
  for (const std::string& name : names) rest.erase(name);
  return rest.size() == 1 ? *rest.begin() : "other";
}

/// The parts of a row by these kinds, and the rest under its name.
std::vector<figure::StackPart> parts_of_row(const MemoryRow& row,
                                            const std::vector<std::string>& names,
                                            const std::string& name_of_rest) {
  std::vector<figure::StackPart> parts;
  double rest = row.total;
  for (const std::string& name : names) {
    const auto kind = std::ranges::find(row.kinds, name, &figure::StackPart::name);
    parts.push_back({name, kind == row.kinds.end() ? 0 : kind->value});
    rest -= parts.back().value;
  }
  constexpr double rounding = 1e-9;
  parts.push_back({name_of_rest, rest > rounding * row.total ? rest : 0});
  return parts;
}

std::optional<Figure> kinds_figure(const MemoryAnswer& all) {
  figure::StackedBars bars{"memory", "Memory of a rank by kind", "memory, GB (lower is better)",
                           all.range()};
  bars.unit = "GB";
  bars.factor = 1e-9;
  const MemoryRow& fullest = *std::ranges::max_element(all.rows, {}, &MemoryRow::total);
  const std::vector<std::string> names = main_kinds(fullest);
  const std::string rest = name_of_rest(all.rows, names);
  const bool is_one_plan = judged_of(all.rows).size() == 1;  // which the verdict names
  for (const MemoryRow& row : all.rows) {
    bars.bars.push_back({row.name, is_one_plan ? "" : row.group, parts_of_row(row, names, rest),
                         row.low, row.high, "", row.total});
    if (row.fits.empty()) bars.whiskers = "the fullest stage";
  }
  if (fullest.device > 0) bars.limit = fullest.device;
  return figure::stacked_bars(bars);
}

Tone tone_of_fit(std::string_view fits) {
  if (fits.empty()) return Tone::plain;
  if (fits == "yes" || fits == "likely") return Tone::good;
  return fits == "no" ? Tone::bad : Tone::caution;
}

/// "3 batches", "1 plan".
std::string cases_text(const MemoryAnswer& all, std::size_t count) {
  if (all.of_plans) return counted(static_cast<long long>(count), "plan");
  return count == 1 ? "1 batch" : fmt::format("{} batches", count);
}

/// "34 % of 85.5 GB (79.6 GiB) stay free": the memory of the device beside the need.
std::string room_text(const MemoryRow& row) {
  if (!(row.device > 0)) return "the cluster states no memory of its devices";
  const double free = row.device - row.total;
  return fmt::format("{:.0f} % of {} {}", 100 * std::abs(free) / row.device,
                     device_memory_text(row.device), free < 0 ? "are missing" : "stay free");
}

Tile fit_tile(const MemoryAnswer& all, const MemoryRow& row) {
  const std::vector<MemoryRow> judged = judged_of(all.rows);
  const auto fitting = std::ranges::count_if(judged, does_fit);
  const std::string value = judged.size() == 1
                                ? row.fits
                                : fmt::format("{} of {}", fitting, cases_text(all, judged.size()));
  return {"Fits", value, room_text(row), tone_of_fit(row.fits)};
}

/// The largest kinds of memory, below the sum and whether it fits.
std::vector<Tile> memory_tiles(const MemoryAnswer& all, const MemoryRow& row) {
  const std::string interval = interval_of_row(row);
  std::vector<Tile> tiles{
      {all.of_plans ? "Memory of a rank" : "Memory with " + row.name, gigabytes(row.total),
       interval.empty() ? "no interval" : fmt::format("{} ({})", interval, all.range()),
       Tone::plain},
      fit_tile(all, row)};
  std::vector<figure::StackPart> kinds = row.kinds;
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &figure::StackPart::value);
  if (kinds.size() == 1) {
    tiles.push_back({"Device", row.device > 0 ? gigabytes(row.device) : "unknown",
                     "that a process can allocate", Tone::plain});
    return tiles;
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(3, kinds.size()); ++i) {
    tiles.push_back({"For " + kinds[i].name, gigabytes(kinds[i].value),
                     percent(kinds[i].value / row.total) + " of all", Tone::plain});
  }
  return tiles;
}

std::string name_of(const MemoryRow& row) {
  return row.group.empty() ? row.name : row.group + ": " + row.name;
}

Table memory_table(const MemoryAnswer& all) {
  Table table{"Memory of a rank at its fullest moment",
              {{all.of_plans ? "plan and rank" : "training", Align::left},
               {"memory"},
               {all.range()},
               {"of"},
               {"fits", Align::left}},
              {},
              {}};
  for (const MemoryRow& row : all.rows) {
    table.rows.push_back({{name_of(row)},
                          {gigabytes(row.total)},
                          {interval_of_row(row)},
                          {row.device > 0 ? gigabytes(row.device) : "–"},
                          {row.fits, tone_of_fit(row.fits)}});
  }
  return table;
}

Table remedies_table(const std::vector<MemoryRemedy>& remedies) {
  Table table{
      "Changes by which a plan fits",
      {{"plan", Align::left}, {"change", Align::left}, {"iteration"}, {"fits", Align::left}},
      {},
      {}};
  for (const MemoryRemedy& one : remedies) {
    table.rows.push_back({{one.plan},
                          {one.change},
                          {to_text(Seconds(one.seconds))},
                          {one.surely ? "surely" : "probably"}});
  }
  return table;
}

/// "82.1 GB (90 % interval 72.3 GB to 96.3 GB) of 85.5 GB".
std::string need_of(const MemoryAnswer& all, const MemoryRow& row) {
  const std::string interval = interval_of_row(row);
  return fmt::format("{}{}{}{}", gigabytes(row.total),
                     interval.empty() ? "" : fmt::format(" ({} {})", all.range(), interval),
                     row.device > 0 ? " of " + gigabytes(row.device)
                                    : "; the cluster states no memory of its devices",
                     row.caveat);
}

/// The answer about one batch or plan.
std::string verdict_of_one(const MemoryAnswer& all, const MemoryRow& row) {
  const char* word = does_fit(row)           ? "Yes"
                     : row.fits == "no"      ? "No"
                     : row.fits == "unknown" ? "Unknown"
                                             : "Perhaps";
  const std::string rank =
      all.of_plans ? fmt::format("with {}, {}", row.group,
                                 row.name == "each rank" ? row.name : "a rank of " + row.name)
                   : fmt::format("with {}, a rank", row.name);
  std::string text = fmt::format("{}: {} needs {}.", word, rank, need_of(all, row));
  if (all.remedies.empty()) return text;
  const MemoryRemedy& first = all.remedies.front();
  return fmt::format("{} With {} it {} fits.", text, first.change,
                     first.surely ? "surely" : "probably");
}

/// The answer about several: how many fit, and the one that matters most.
std::string verdict_of_several(const MemoryAnswer& all, const MemoryRow& row, std::size_t judged,
                               std::size_t fitting) {
  const std::string name = all.of_plans ? row.group : row.name.substr(row.name.find(' ') + 1);
  if (fitting == 0) {
    const bool is_sure = std::ranges::all_of(
        all.rows, [](const MemoryRow& one) { return one.fits.empty() || one.fits == "no"; });
    return fmt::format("None of {} {}; {} needs least: {}.", cases_text(all, judged),
                       is_sure ? "fits" : "surely fits", name, need_of(all, row));
  }
  const std::string which = all.of_plans ? fmt::format("least memory needs {}", name)
                                         : fmt::format("the largest of these is {}", name);
  return fmt::format("{} of {} {}; {}: {}.", fitting, cases_text(all, judged),
                     fitting == 1 ? "fits" : "fit", which, need_of(all, row));
}

std::string memory_verdict(const MemoryAnswer& all, const MemoryRow& row) {
  if (is_never_fitting(row)) {
    const bool may_be_less = row.states > row.least_states;
    return fmt::format(
        "No, with any batch: parameters and states alone take {}{}, and a rank can allocate {}. "
        "Ranks have to share the network by a parallel plan.",
        gigabytes(std::max(row.states, row.least_states)),
        may_be_less ? fmt::format(" (at the very least {})", gigabytes(row.least_states)) : "",
        gigabytes(row.device));
  }
  const std::vector<MemoryRow> judged = judged_of(all.rows);
  if (judged.size() == 1) return verdict_of_one(all, row);
  const auto fitting = static_cast<std::size_t>(std::ranges::count_if(judged, does_fit));
  return verdict_of_several(all, row, judged.size(), fitting);
}

Page page_of_memory(const Json& answer, const MemoryAnswer& all) {
  Page page = memory_opening(answer);
  page.data = usable_data("predicted from the network and its framework; nothing was measured.");
  if (auto figure = kinds_figure(all)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {{"memory", "Every rank asked about", {memory_table(all)}}};
  if (!all.remedies.empty()) {
    page.sections.push_back({"remedies", "What would fit", {remedies_table(all.remedies)}});
  }
  return page;
}

}  // namespace

Page memory_opening(const Json& answer) {
  const MemoryAnswer all = answer_of(answer);
  const Json& asked = answer.at(all.of_plans ? "plans" : "trainings").at(0);
  const MemoryRow row = answering_row(all);
  Page page;
  page.kind = "memory";
  page.question =
      fmt::format("Does {} fit the memory of {}?", asked.at("network").get<std::string>(),
                  asked.at("cluster").get<std::string>());
  page.verdict = memory_verdict(all, row);
  page.tone = tone_of_fit(row.fits);
  if (page.tone == Tone::good && !row.caveat.empty()) page.tone = Tone::caution;
  page.tiles = memory_tiles(all, row);
  return page;
}

bool fits_no_batch(const Json& answer) {
  return std::ranges::all_of(answer_of(answer).rows, is_never_fitting);
}

AnswerPage memory_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "memory", [](const Json& answer) {
    const MemoryAnswer all = answer_of(answer);
    AnswerPage made{page_of_memory(answer, all), {}};
    made.document.tables = {memory_table(all)};
    made.document.records.columns = {{"rank", Align::left, Meaning::key},
                                     {"memory_bytes", Align::right, Meaning::value}};
    for (const MemoryRow& row : all.rows) {
      made.document.records.rows.push_back({{name_of(row)}, {fmt::format("{}", row.total)}});
    }
    return made;
  });
}

}  // namespace dlscale::report
