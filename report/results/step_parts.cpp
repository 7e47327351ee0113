#include "report/results/step_parts.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/results/axes.hpp"

namespace dlscale::report {
namespace {

struct Piece {
  std::string_view series;
  std::size_t part;  ///< index in step_part_words
};

constexpr std::array<Piece, 7> pieces{{{"t_f", 0},
                                       {"t_b", 0},
                                       {"t_u", 0},
                                       {"t_comm_exposed", 1},
                                       {"t_io", 2},
                                       {"t_h2d", 2},
                                       {"t_other", 3}}};

bool has_phases(const Measurement& row) {
  if (row.benchmark != "e2e" || (row.status != Status::ok && row.status != Status::unstable)) {
    return false;
  }
  const auto found = row.series.find("t_f");
  if (found == row.series.end() || found->second.samples.empty()) return false;
  const std::size_t ranks = found->second.samples.size();
  for (const Piece& piece : pieces) {
    const auto series = row.series.find(std::string(piece.series));
    if (series == row.series.end() || series->second.samples.size() != ranks) return false;
    const auto empty = [](const auto& samples) { return samples.empty(); };
    if (std::ranges::any_of(series->second.samples, empty)) return false;
  }
  return true;
}

double mean(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

std::string name_of(const Measurement& row) {
  std::string name = axis_or_empty(row, "network") + " · " + axis_or_empty(row, "schedule") +
                     " · batch " + axis_or_empty(row, "batch");
  if (const std::string ranks = axis_or_empty(row, "ranks"); !ranks.empty()) {
    name += fmt::format(" · {} rank{}", ranks, ranks == "1" ? "" : "s");
  }
  for (const char* axis : {"dtype", "backend"}) {
    if (const std::string value = axis_or_empty(row, axis); !value.empty()) name += " · " + value;
  }
  return name;
}

StepParts parts_of(const Measurement& row) {
  StepParts run{name_of(row), {}};
  const std::size_t ranks = row.at("t_f").samples.size();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    StepTimes times{};
    for (const Piece& piece : pieces) {
      times.at(piece.part) += mean(row.at(piece.series).samples.at(rank));
    }
    run.ranks.push_back(times);
  }
  return run;
}

/// The rows with phases whose repeat is the lowest among rows of the same other axes. Launches may
/// be counted from any number.
std::vector<const Measurement*> first_repeats(const ResultFile& file) {
  std::vector<const Measurement*> rows;
  std::map<Axes, std::size_t> places;  // by axes without the repeat
  for (const Measurement& row : file.measurements) {
    if (!has_phases(row)) continue;
    Axes axes = row.axes;
    axes.erase("repeat");
    const auto [place, is_new] = places.emplace(std::move(axes), rows.size());
    if (is_new) {
      rows.push_back(&row);
      continue;
    }
    const Measurement*& first = rows[place->second];
    if (in_order(axis_or_empty(row, "repeat"), axis_or_empty(*first, "repeat"))) first = &row;
  }
  return rows;
}

}  // namespace

double step_total(const StepTimes& times) {
  return std::accumulate(times.begin(), times.end(), 0.0);
}

std::vector<StepParts> step_parts(std::span<const ResultFile> results) {
  std::vector<StepParts> runs;
  for (const ResultFile& file : results) {
    for (const Measurement* row : first_repeats(file)) runs.push_back(parts_of(*row));
  }
  return runs;
}

Table step_table(std::span<const StepParts> runs, std::size_t most) {
  Table table;
  table.title = "Mean time of a step, rank by rank";
  table.columns = {{"run", Align::left}, {"rank"}};
  for (const std::string_view word : step_part_words) {
    table.columns.push_back({std::string(word) + " ms"});
  }
  table.columns.push_back({"step ms"});
  std::size_t left_out = 0;
  for (const StepParts& run : runs) {
    for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
      if (table.rows.size() == most) {
        ++left_out;
        continue;
      }
      std::vector<Cell> cells{{run.name}, {std::to_string(rank)}};
      for (const double seconds : run.ranks[rank])
        cells.push_back({milliseconds(Seconds(seconds))});
      cells.push_back({milliseconds(Seconds(step_total(run.ranks[rank])))});
      table.rows.push_back(std::move(cells));
    }
  }
  table.notes = {"compute is forward, backward and update; input is waiting for it and its copy"};
  if (left_out > 0) table.notes.push_back(fmt::format("{} more ranks are not shown", left_out));
  return table;
}

}  // namespace dlscale::report
