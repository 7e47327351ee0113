#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/figures.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/results/axes.hpp"
#include "report/results/step_parts.hpp"

namespace dlscale::report::figure {

namespace {

constexpr std::size_t most_bars = 24;

std::vector<StackPart> stacked_parts(const StepTimes& times) {
  std::vector<StackPart> parts;
  for (std::size_t i = 0; i < times.size(); ++i) {
    parts.push_back({std::string(step_part_words.at(i)), times.at(i)});
  }
  return parts;
}

constexpr std::size_t most_maps = 6;
constexpr std::size_t most_rows = 64;    ///< rows of a map; more ranks share rows
constexpr std::size_t most_cells = 120;  ///< cells of a row; more steps share cells
constexpr double left_of_map = 70;
constexpr double right_of_map = 66;

using Matrix = std::vector<std::vector<double>>;  ///< [rank][step]

/// Own work of each rank over the median of all ranks in that step, minus 1. Empty if the series do
/// not match.
Matrix lateness(const Measurement& row) {
  const auto total = row.series.find("t_iter");
  const auto waited = row.series.find("t_comm_exposed");
  if (total == row.series.end() || waited == row.series.end()) return {};
  const Matrix& iterations = total->second.samples;
  const Matrix& exposed = waited->second.samples;
  if (iterations.size() < 2 || iterations.size() != exposed.size()) return {};
  const std::size_t steps = iterations.front().size();
  Matrix late(iterations.size(), std::vector<double>(steps));
  for (std::size_t step = 0; step < steps; ++step) {
    std::vector<double> own;
    for (std::size_t rank = 0; rank < iterations.size(); ++rank) {
      if (iterations[rank].size() != steps || exposed[rank].size() != steps) return {};
      own.push_back(iterations[rank][step] - exposed[rank][step]);
    }
    const double middle = median(own);
    if (!(middle > 0)) return {};
    for (std::size_t rank = 0; rank < own.size(); ++rank) late[rank][step] = own[rank] / middle - 1;
  }
  return late;
}

struct Map {
  std::string name;
  Matrix late;
};

/// For each network, the map of the run with most ranks.
std::vector<Map> maps_of(std::span<const ResultFile> results) {
  std::map<std::string, Map> best;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      const bool timed = row.status == Status::ok || row.status == Status::unstable;
      if (row.benchmark != "e2e" || !timed) continue;
      Matrix late = lateness(row);
      if (late.empty() || late.front().empty()) continue;
      const std::string network = axis_or_empty(row, "network");
      const auto found = best.find(network);
      if (found != best.end() && found->second.late.size() >= late.size()) continue;
      std::string name = fmt::format("{} · {} · {}", network, axis_or_empty(row, "schedule"),
                                     counted(static_cast<long long>(late.size()), "rank"));
      best[network] = {std::move(name), std::move(late)};
    }
  }
  std::vector<Map> maps;
  for (auto& [network, map] : best) {
    if (maps.size() < most_maps) maps.push_back(std::move(map));
  }
  return maps;
}

/// Merges neighbours until at most this many rows and cells are left; keeps the greatest deviation.
Matrix joined(const Matrix& late, std::size_t rows, std::size_t cells) {
  const std::size_t per_row = (late.size() + rows - 1) / rows;
  const std::size_t per_cell = (late.front().size() + cells - 1) / cells;
  Matrix out((late.size() + per_row - 1) / per_row,
             std::vector<double>((late.front().size() + per_cell - 1) / per_cell));
  for (std::size_t rank = 0; rank < late.size(); ++rank) {
    for (std::size_t step = 0; step < late[rank].size(); ++step) {
      double& cell = out[rank / per_row][step / per_cell];
      if (std::abs(late[rank][step]) > std::abs(cell)) cell = late[rank][step];
    }
  }
  return out;
}

double greatest(const std::vector<Map>& maps) {
  double all = 0;
  for (const Map& map : maps) {
    for (const auto& rank : map.late) {
      for (const double each : rank) all = std::max(all, std::abs(each));
    }
  }
  return all;
}

/// Draws the cells of a map below `y`; returns the y below them.
double draw_map(Canvas& canvas, const Map& map, double y, double most) {
  canvas.text({4, y + 10}, map.name, Anchor::start, "bold");
  y += 18;
  const Matrix cells = joined(map.late, most_rows, most_cells);
  const double cell_width = std::min(24.0, (figure_width - left_of_map - right_of_map) /
                                               static_cast<double>(cells.front().size()));
  const double cell_height = cells.size() > 16 ? 8 : 16;
  const std::size_t per_row = (map.late.size() + most_rows - 1) / most_rows;
  const std::size_t per_cell = (map.late.front().size() + most_cells - 1) / most_cells;
  for (std::size_t row = 0; row < cells.size(); ++row) {
    if (cell_height > 8 || row % 4 == 0) {
      canvas.text({left_of_map - 6, y + cell_height / 2 + 4}, fmt::format("rank {}", row * per_row),
                  Anchor::end, "soft");
    }
    for (std::size_t column = 0; column < cells[row].size(); ++column) {
      const double value = cells[row][column];
      const double strength = most > 0 ? std::max(0.06, std::abs(value) / most) : 0.06;
      canvas.rect({left_of_map + cell_width * static_cast<double>(column), y, cell_width - 0.5,
                   cell_height - 0.5},
                  fill_class(value > 0 ? 1 : 0),
                  fmt::format("rank {}, step {}: {}", row * per_row, column * per_cell,
                              signed_percent(value)),
                  strength);
    }
    if (per_row == 1 && cell_height > 8) {
      canvas.text({left_of_map + cell_width * static_cast<double>(cells[row].size()) + 6,
                   y + cell_height / 2 + 4},
                  signed_percent(median(map.late[row])), Anchor::start, "",
                  fmt::format("rank {}: median of its steps", row));
    }
    y += cell_height;
  }
  canvas.text(
      {left_of_map, y + 14},
      fmt::format("steps 0 to {}, from left to right; behind a row, the median of its steps",
                  map.late.front().size() - 1),
      Anchor::start, "soft");
  return y + 30;
}

Table lateness_table(const std::vector<Map>& maps) {
  Table table{"Own work of a rank against the median of the ranks",
              {{"run", Align::left}, {"rank"}, {"median step"}, {"slowest step"}},
              {},
              {"+ is slower"}};
  for (const Map& map : maps) {
    for (std::size_t rank = 0; rank < map.late.size(); ++rank) {
      const std::vector<double>& steps = map.late[rank];
      table.rows.push_back({{map.name},
                            {std::to_string(rank)},
                            {signed_percent(median(steps))},
                            {signed_percent(std::ranges::max(steps))}});
    }
  }
  return table;
}

}  // namespace

std::optional<Figure> step_stack(std::span<const ResultFile> results) {
  StackedBars figure{"step_stack",
                     "Where the mean time of a step goes, rank by rank",
                     "mean time of a step, ms (lower is better)",
                     "",
                     {},
                     most_bars};
  for (const StepParts& group : step_parts(results)) {
    for (std::size_t rank = 0; rank < group.ranks.size(); ++rank) {
      figure.bars.push_back(
          {fmt::format("rank {}", rank), group.name, stacked_parts(group.ranks[rank]), {}, {}, ""});
    }
  }
  return stacked_bars(figure);
}

std::optional<Figure> straggler_map(std::span<const ResultFile> results) {
  const std::vector<Map> maps = maps_of(results);
  if (maps.empty()) return {};
  double height = 34;
  for (const Map& map : maps) {
    const std::size_t rows = joined(map.late, most_rows, most_cells).size();
    height += 48 + static_cast<double>(rows) * (rows > 16 ? 8 : 16);
  }
  Canvas canvas(figure_width, height);
  const double most = greatest(maps);
  double y = draw_legend(
      canvas, {left_of_map, 14}, figure_width - left_of_map,
      {{fmt::format("slower than the median rank, at most {} (+ = worse)", signed_percent(most)),
        fill_class(1)},
       {"faster", fill_class(0)}});
  for (const Map& map : maps) y = draw_map(canvas, map, y, most);
  const std::string title =
      "Stragglers: own work of a rank in a step, against the median of the ranks (+ = slower)";
  const std::string alt = fmt::format(
      "Heat maps of {}, a row a rank and a column a step. A full colour is {} away from the median "
      "of the ranks in that step.",
      counted(static_cast<long long>(maps.size()), "run"), percent(most));
  return Figure{"stragglers",        title, alt, canvas.svg(title, alt), "stragglers.svg",
                lateness_table(maps)};
}

}  // namespace dlscale::report::figure
