#pragma once
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/statistics.hpp"
#include "report/figure/figure.hpp"

namespace dlscale::report::figure {

/// A median time and the ends of its 95 % interval, s; without one, it reaches to infinity.
struct CrossoverTime {
  double median = 0;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};
CrossoverTime crossover_time(const Summary& summary);
using CrossoverTimes = std::map<std::string, CrossoverTime>;  ///< by algorithm

/// A time of several measurements: their median, or the upper one of two in the middle, between the
/// ends of all their intervals. Requires one.
CrossoverTime joined_time(std::vector<CrossoverTime> times);

/// Geometric means over several cases, of the algorithms that ran in all of them. Requires a case.
CrossoverTimes geometric_mean(std::span<const CrossoverTimes> cases);

/// The fastest algorithm at one place of a map.
struct Winner {
  std::string name;
  CrossoverTime time;
  std::string next;  ///< the second; empty if no other ran
  CrossoverTime next_time = {};
  std::vector<std::string> ties = {};  ///< others whose interval overlaps
};
/// Absent if none ran.
std::optional<Winner> winner_of(const CrossoverTimes& times);

/// One map: the fastest algorithm by row and column.
struct CrossoverMap {
  std::string title;
  std::string x_name;
  std::vector<std::string> rows;     ///< from top to bottom
  std::vector<std::string> columns;  ///< from left to right
  std::map<std::pair<std::size_t, std::size_t>, Winner> cells = {};
};

/// The map of times by row and column, which the functions name. `times_of` makes CrossoverTimes of
/// what is at a place.
template <class Row, class Column, class AtPlace>
CrossoverMap crossover_map(std::string title, std::string x_name,
                           const std::map<std::pair<Row, Column>, AtPlace>& places,
                           std::string (*row_name)(const Row&),
                           std::string (*column_name)(const Column&),
                           CrossoverTimes (*times_of)(const AtPlace&)) {
  std::set<Row> rows;
  std::set<Column> columns;
  for (const auto& [place, at] : places) {
    rows.insert(place.first);
    columns.insert(place.second);
  }
  CrossoverMap map{std::move(title), std::move(x_name), {}, {}};
  for (const Row& row : rows) map.rows.push_back(row_name(row));
  for (const Column& column : columns) map.columns.push_back(column_name(column));
  const auto index_in = [](const auto& keys, const auto& key) {
    return static_cast<std::size_t>(std::distance(keys.begin(), keys.find(key)));
  };
  for (const auto& [place, at] : places) {
    if (auto winner = winner_of(times_of(at))) {
      map.cells[{index_in(rows, place.first), index_in(columns, place.second)}] = *winner;
    }
  }
  return map;
}

/// The words of a figure of maps.
struct MapWords {
  std::string name;      ///< of the figure and of its file
  std::string subject;   ///< "The fastest algorithm of a collective by size and ranks"
  std::string row_name;  ///< of the rows' column
  std::string means;     ///< what times of a cell are means of; empty if of nothing
};

/// Draws the first four maps in which several algorithms ran at two places; the table of numbers
/// has all. Absent without one.
std::optional<Figure> crossover_figure(std::vector<CrossoverMap> maps, const MapWords& words);

}  // namespace dlscale::report::figure
