#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/numbers.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/answers/parallel_words.hpp"
#include "report/figure/stacked_bars.hpp"

namespace dlscale::report {
namespace {

using nlohmann::json;

/// A rank's memory at its fullest moment.
struct MemoryRow {
  std::string name;        ///< "batch 32", "stage 1"
  std::string group = {};  ///< the plan; may be empty
  std::vector<figure::StackPart> kinds = {};
  double total = 0;  ///< bytes
  std::optional<double> low = {};
  std::optional<double> high = {};
  double device = 0;  ///< bytes that a process can allocate
  std::string fits = {};
};

/// Keys that are sums, ends or limits, and no kind of memory.
bool is_kind(std::string_view key) {
  constexpr std::string_view ending = "_bytes";
  for (const char* other : {"total_bytes", "least_bytes", "most_bytes", "memory_bytes",
                            "memory_low_bytes", "memory_high_bytes", "device_memory_bytes"}) {
    if (key == other) return false;
  }
  return key.ends_with(ending);
}

/// The kinds of an object in its order: "main weights" of "main_weights_bytes".
std::vector<figure::StackPart> kinds_of(const json& object) {
  std::vector<figure::StackPart> kinds;
  for (const auto& [key, value] : object.items()) {
    if (!is_kind(key)) continue;
    std::string name = key.substr(0, key.rfind('_'));
    std::ranges::replace(name, '_', ' ');
    kinds.push_back({std::move(name), value.get<double>()});
  }
  return kinds;
}

MemoryRow row_of_training(const json& one) {
  return {"batch " + one.at("batch").dump(),
          "",
          kinds_of(one),
          one.at("total_bytes").get<double>(),
          number_in(one, "least_bytes"),
          number_in(one, "most_bytes"),
          one.at("memory_bytes").get<double>(),
          one.at("fits").get<std::string>()};
}

/// A row for each stage of a plan at its fullest moment; the fullest has the verdict and its
/// interval.
void append_stages(std::vector<MemoryRow>& rows, const json& plan) {
  const std::size_t first = rows.size();
  for (const json& moment : plan.at("stages")) {
    const std::string name = "stage " + moment.at("stage").dump();
    const double total = moment.at("total_bytes").get<double>();
    auto row = std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                            [&name](const MemoryRow& each) { return each.name == name; });
    if (row == rows.end()) row = rows.insert(rows.end(), MemoryRow{name});
    if (total <= row->total) continue;
    *row = {name, plan.at("plan").get<std::string>(),          kinds_of(moment), total, {},
            {},   plan.at("device_memory_bytes").get<double>()};
  }
  const auto fullest =
      std::max_element(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
                       [](const MemoryRow& a, const MemoryRow& b) { return a.total < b.total; });
  if (fullest == rows.end()) return;
  fullest->fits = plan.at("fits").get<std::string>();
  fullest->low = number_in(plan, "memory_low_bytes");
  fullest->high = number_in(plan, "memory_high_bytes");
}

std::vector<MemoryRow> rows_of_answer(const json& answer) {
  std::vector<MemoryRow> rows;
  if (answer.contains("trainings")) {
    for (const json& one : answer.at("trainings")) rows.push_back(row_of_training(one));
  } else {
    for (const json& plan : answer.at("plans")) append_stages(rows, plan);
  }
  return rows;
}

const MemoryRow& fullest_of(const std::vector<MemoryRow>& rows) {
  return *std::ranges::max_element(rows, {}, &MemoryRow::total);
}

std::string interval_of_row(const MemoryRow& row) {
  return row.low && row.high ? fmt::format("{} to {}", gigabytes(*row.low), gigabytes(*row.high))
                             : "";
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

/// The parts of a row by these kinds, and the rest.
std::vector<figure::StackPart> parts_of_row(const MemoryRow& row,
                                            const std::vector<std::string>& names) {
  std::vector<figure::StackPart> parts;
  double rest = row.total;
  for (const std::string& name : names) {
    const auto kind = std::ranges::find(row.kinds, name, &figure::StackPart::name);
    parts.push_back({name, kind == row.kinds.end() ? 0 : kind->value});
    rest -= parts.back().value;
  }
  parts.push_back({"other", std::max(0.0, rest)});
  return parts;
}

std::optional<Figure> kinds_figure(const std::vector<MemoryRow>& rows) {
  figure::StackedBars bars{"memory", "Memory of a rank by kind", "memory, GB (more is worse)",
                           "90 % interval"};
  bars.unit = "GB";
  bars.factor = 1e-9;
  const std::vector<std::string> names = main_kinds(fullest_of(rows));
  for (const MemoryRow& row : rows) {
    bars.bars.push_back(
        {row.name, row.group, parts_of_row(row, names), row.low, row.high, "", row.total});
  }
  bars.limit = fullest_of(rows).device;
  return figure::stacked_bars(bars);
}

Tone tone_of_fit(std::string_view fits) {
  if (fits.empty()) return Tone::plain;
  if (fits == "yes") return Tone::good;
  return fits == "no" ? Tone::bad : Tone::caution;
}

std::vector<Tile> memory_tiles(const MemoryRow& row) {
  std::vector<Tile> tiles{
      {"Memory of a rank", gigabytes(row.total),
       row.low ? interval_of_row(row) + " (90 %)" : "no interval", Tone::plain},
      {"Fits", row.fits, fmt::format("a process can allocate {}", gigabytes(row.device)),
       tone_of_fit(row.fits)}};
  std::vector<figure::StackPart> kinds = row.kinds;
  std::ranges::stable_sort(kinds, std::ranges::greater{}, &figure::StackPart::value);
  for (std::size_t i = 0; i < std::min<std::size_t>(3, kinds.size()); ++i) {
    tiles.push_back({"For " + kinds[i].name, gigabytes(kinds[i].value),
                     percent(kinds[i].value / row.total) + " of all", Tone::plain});
  }
  return tiles;
}

Table memory_table(const std::vector<MemoryRow>& rows) {
  Table table{"Memory of a rank at its fullest moment",
              {{"rank", Align::left}, {"memory"}, {"90 % interval"}, {"fits", Align::left}},
              {},
              {}};
  for (const MemoryRow& row : rows) {
    table.rows.push_back({{row.group.empty() ? row.name : row.group + ": " + row.name},
                          {gigabytes(row.total)},
                          {interval_of_row(row)},
                          {row.fits, tone_of_fit(row.fits)}});
  }
  return table;
}

std::string fit_sentence(const MemoryRow& row) {
  const std::string interval = interval_of_row(row);
  const std::string need = fmt::format(
      "a rank needs {}{} of {}", gigabytes(row.total),
      interval.empty() ? "" : fmt::format(" (90 % interval {})", interval), gigabytes(row.device));
  if (row.fits == "yes")
    return fmt::format("Yes: {} {}, {}.", row.group.empty() ? "with" : "on", row.name, need);
  return fmt::format("{}: {} {}, {}.", row.fits == "no" ? "No" : "Perhaps",
                     row.group.empty() ? "with" : "on", row.name, need);
}

Page page_of_memory(const json& answer, const std::vector<MemoryRow>& rows) {
  const json& asked = answer.at(answer.contains("trainings") ? "trainings" : "plans").at(0);
  const MemoryRow& row = fullest_of(rows);
  Page page;
  page.kind = "memory";
  page.question =
      fmt::format("Does {} fit the memory of {}?", asked.at("network").get<std::string>(),
                  asked.at("cluster").get<std::string>());
  page.verdict = fit_sentence(row);
  page.tone = tone_of_fit(row.fits);
  page.tiles = memory_tiles(row);
  page.data = Badge{Tone::caution, "Usable", "predicted from the network and its framework."};
  if (auto figure = kinds_figure(rows)) {
    page.picture = figure->name;
    page.figures.push_back(std::move(*figure));
  }
  page.sections = {{"memory", "Every rank asked about", {memory_table(rows)}}};
  return page;
}

}  // namespace

AnswerPage memory_page(const std::string& text, const std::string& file) {
  return page_of_answer(text, file, "memory", [](const json& answer) {
    const std::vector<MemoryRow> rows = rows_of_answer(answer);
    AnswerPage made{page_of_memory(answer, rows), {}};
    made.document.tables = {memory_table(rows)};
    made.document.records.columns = {{"rank", Align::left, Meaning::key},
                                     {"memory_bytes", Align::right, Meaning::value}};
    for (const MemoryRow& row : rows) {
      made.document.records.rows.push_back(
          {{row.group.empty() ? row.name : row.group + ": " + row.name},
           {fmt::format("{}", row.total)}});
    }
    return made;
  });
}

}  // namespace dlscale::report
