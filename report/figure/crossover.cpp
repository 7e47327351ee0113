#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/figures.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double row_height = 44;
constexpr double line_height = 14;
constexpr double left_of_cells = 116;
constexpr std::size_t most_crossovers = 4;

/// A median time and the ends of its 95 % interval, s.
struct Timing {
  double median = 0;
  double low = 0;
  double high = std::numeric_limits<double>::infinity();
};
using Timings = std::map<std::string, Timing>;  ///< by algorithm

Timing timing_of(const Summary& summary) {
  if (!has_interval(summary)) return {summary.median};
  return {summary.median, summary.ci95_low, summary.ci95_high};
}

/// The fastest algorithm at one place of a map.
struct Winner {
  std::string name;
  Timing time;
  std::string next;   ///< the second; empty if no other ran
  double lead = 1;    ///< its time over that of the fastest
  bool open = false;  ///< whether the interval of another overlaps
};

/// Absent if none ran.
std::optional<Winner> winner_of(const Timings& timings) {
  if (timings.empty()) return {};
  const auto median = [](const auto& each) { return each.second.median; };
  const auto best = std::ranges::min_element(timings, {}, median);
  Winner winner{best->first, best->second, {}, 1, false};
  for (const auto& [name, timing] : timings) {
    if (name == best->first) continue;
    const double lead = timing.median / best->second.median;
    if (winner.next.empty() || lead < winner.lead) {
      winner.next = name;
      winner.lead = lead;
    }
    winner.open = winner.open || timing.low <= best->second.high;
  }
  return winner;
}

/// Geometric means over several cases, of the algorithms that ran in all of them.
Timings mean_of(std::span<const Timings> cases) {
  Timings mean;
  for (const auto& [name, first] : cases.front()) {
    Timing product{1, 1, 1};
    const double power = 1 / static_cast<double>(cases.size());
    const auto multiply = [&, &name = name](const Timings& each) {
      const auto found = each.find(name);
      if (found == each.end()) return false;
      product.median *= std::pow(found->second.median, power);
      product.low *= std::pow(found->second.low, power);
      product.high *= std::pow(found->second.high, power);
      return true;
    };
    if (std::ranges::all_of(cases, multiply)) mean[name] = product;
  }
  return mean;
}

/// One map: the fastest algorithm by row and column.
struct CrossoverMap {
  std::string title;
  std::string x_name;
  std::vector<std::string> rows;     ///< from top to bottom
  std::vector<std::string> columns;  ///< from left to right
  std::map<std::pair<std::size_t, std::size_t>, Winner> cells = {};

  void add(std::size_t row, std::size_t column, const Timings& timings) {
    if (const auto winner = winner_of(timings)) cells[{row, column}] = *winner;
  }
  /// Whether several algorithms ran at two places, so that there is something to map.
  [[nodiscard]] bool compares() const {
    const auto has_next = [](const auto& cell) { return !cell.second.next.empty(); };
    return std::ranges::count_if(cells, has_next) > 1;
  }
};

/// Colours by algorithm, the most frequent winner first.
std::map<std::string, std::size_t> colours_of(const std::vector<CrossoverMap>& maps) {
  std::map<std::string, std::size_t> wins;
  for (const CrossoverMap& map : maps) {
    for (const auto& [place, winner] : map.cells) ++wins[winner.name];
  }
  std::vector<std::pair<std::string, std::size_t>> order(wins.begin(), wins.end());
  std::ranges::stable_sort(order, std::greater{}, &std::pair<std::string, std::size_t>::second);
  for (std::size_t i = 0; i < order.size(); ++i) wins[order[i].first] = i;
  return wins;
}

/// Names of algorithms as cells show them: without their backend, where no other has the rest.
std::map<std::string, std::string> short_names(const std::map<std::string, std::size_t>& names) {
  std::map<std::string, std::size_t> counts;
  const auto rest = [](const std::string& name) { return name.substr(name.find(' ') + 1); };
  for (const auto& [name, index] : names) ++counts[rest(name)];
  std::map<std::string, std::string> found;
  for (const auto& [name, index] : names) {
    found[name] = counts.at(rest(name)) == 1 ? rest(name) : name;
    std::ranges::replace(found[name], '_', ' ');
  }
  return found;
}

/// A text in at most three lines, whose words are cut where they are too wide; empty if only three
/// letters would fit.
std::vector<std::string> lines_within(const std::string& words, double width) {
  constexpr std::size_t shortest = 4;
  constexpr std::size_t most_lines = 3;
  const auto room = static_cast<std::size_t>(std::max(0.0, width - 4) / glyph);
  if (room < shortest) return {};
  std::istringstream text(wrapped(words, room, 0));
  std::vector<std::string> lines;
  for (std::string line; lines.size() < most_lines && std::getline(text, line);) {
    const bool fits = display_width(line) <= room;
    std::string cut = fits ? line : cut_to_width(line + "  ", room + 1);
    if (!fits) cut.erase(cut.rfind("…"));
    lines.push_back(std::move(cut));
  }
  return lines;
}

/// Draws the lines of a text around `middle`.
void draw_lines(Canvas& canvas, Point middle, const std::vector<std::string>& lines, Anchor anchor,
                const std::string& title = {}) {
  double y = middle.y + 4 - line_height * (static_cast<double>(lines.size()) - 1) / 2;
  for (const std::string& line : lines) {
    canvas.text({middle.x, y}, line, anchor, "", title);
    y += line_height;
  }
}

/// Cells of one row with the same winner beside one another.
struct CellRun {
  std::size_t first = 0;
  std::size_t last = 0;
  const Winner* winner = nullptr;
};

std::vector<CellRun> runs_of(const CrossoverMap& map, std::size_t row) {
  std::vector<CellRun> runs;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const auto found = map.cells.find({row, column});
    if (found == map.cells.end()) continue;
    const bool goes_on = !runs.empty() && runs.back().last + 1 == column &&
                         runs.back().winner->name == found->second.name;
    if (goes_on) {
      runs.back().last = column;
    } else {
      runs.push_back({column, column, &found->second});
    }
  }
  return runs;
}

std::string cell_title(const CrossoverMap& map, std::size_t row, std::size_t column,
                       const Winner& winner) {
  const std::string second =
      winner.next.empty()
          ? "no other ran"
          : fmt::format("{} takes {} times as long{}", winner.next, significant(winner.lead, 3),
                        winner.open ? ", within the intervals" : "");
  return fmt::format("{}, {}: {} {}; {}", map.rows[row], map.columns[column], winner.name,
                     to_text(Seconds(winner.time.median)), second);
}

/// Draws a map below `y`; returns the y below it.
double draw_map(Canvas& canvas, const CrossoverMap& map,
                const std::map<std::string, std::size_t>& chosen, double y) {
  constexpr double open_strength = 0.2;
  constexpr double clear_strength = 0.5;
  const std::map<std::string, std::string> names = short_names(chosen);
  canvas.text({4, y + 12}, cut_to_width(map.title, 82), Anchor::start, "bold", map.title);
  y += 22;
  const double width =
      std::min(90.0, (figure_width - left_of_cells - 10) / static_cast<double>(map.columns.size()));
  const auto x = [&](std::size_t column) {
    return left_of_cells + width * static_cast<double>(column);
  };
  for (std::size_t row = 0; row < map.rows.size(); ++row, y += row_height) {
    draw_lines(canvas, {left_of_cells - 8, y + row_height / 2},
               lines_within(map.rows[row], left_of_cells - 12), Anchor::end, map.rows[row]);
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const auto found = map.cells.find({row, column});
      if (found == map.cells.end()) continue;
      const Winner& winner = found->second;
      canvas.rect({x(column), y, width - 1, row_height - 2}, fill_class(chosen.at(winner.name)),
                  cell_title(map, row, column, winner),
                  winner.open ? open_strength : clear_strength);
    }
    for (const CellRun& run : runs_of(map, row)) {
      const double middle = (x(run.first) + x(run.last + 1)) / 2;
      draw_lines(canvas, {middle, y + row_height / 2},
                 lines_within(names.at(run.winner->name), x(run.last + 1) - x(run.first)),
                 Anchor::middle);
    }
  }
  double free_from = 0;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const double middle = x(column) + width / 2;
    const double half = glyph * static_cast<double>(display_width(map.columns[column])) / 2;
    if (middle - half < free_from) continue;
    canvas.text({middle, y + 14}, map.columns[column], Anchor::middle, "soft");
    free_from = middle + half + 6;
  }
  canvas.text({(x(0) + x(map.columns.size())) / 2, y + 32}, map.x_name, Anchor::middle, "soft");
  return y + 48;
}

Table winners_table(const std::vector<CrossoverMap>& maps, const std::string& row_name) {
  Table table{"The fastest algorithm",
              {{"", Align::left},
               {"", Align::left},
               {maps.front().x_name},
               {"fastest", Align::left},
               {"time"},
               {"95 % interval"},
               {"next", Align::left},
               {"times as long"}},
              {},
              {}};
  table.columns[0].heading = "map";
  table.columns[1].heading = row_name;
  for (const CrossoverMap& map : maps) {
    for (const auto& [place, winner] : map.cells) {
      const auto& [median, low, high] = winner.time;
      table.rows.push_back({{map.title},
                            {map.rows[place.first]},
                            {map.columns[place.second]},
                            {winner.name + (winner.open ? " (tie)" : "")},
                            {to_text(Seconds(median))},
                            {std::isfinite(high) ? fmt::format("{} – {}", to_text(Seconds(low)),
                                                               to_text(Seconds(high)))
                                                 : "–"},
                            {winner.next},
                            {winner.next.empty() ? "–" : significant(winner.lead, 3)}});
    }
  }
  return table;
}

/// The words of a figure of maps.
struct MapWords {
  std::string name;
  std::string subject;   ///< "The fastest algorithm of a collective by size and ranks"
  std::string row_name;  ///< of the rows' column
};

std::optional<Figure> figure_of(std::vector<CrossoverMap> maps, const MapWords& words) {
  std::erase_if(maps, [](const CrossoverMap& map) { return !map.compares(); });
  if (maps.empty()) return {};
  if (maps.size() > most_crossovers) maps.resize(most_crossovers);
  double height = 4;
  for (const CrossoverMap& map : maps) {
    height += 70 + row_height * static_cast<double>(map.rows.size());
  }
  Canvas canvas(figure_width, height);
  const auto chosen = colours_of(maps);
  double y = 0;
  for (const CrossoverMap& map : maps) y = draw_map(canvas, map, chosen, y);
  const std::string title =
      words.subject + "; where it is pale, another is as fast within the 95 % intervals";
  const std::string alt =
      fmt::format("{}: {} of coloured cells with names. The table of numbers says the same.",
                  words.subject, counted(static_cast<long long>(maps.size()), "map"));
  return Figure{words.name,
                title,
                alt,
                canvas.svg(title, alt),
                words.name + ".svg",
                winners_table(maps, words.row_name)};
}

/// The index of each key in the order of the set.
template <class Key>
std::size_t index_in(const std::set<Key>& keys, const Key& key) {
  return static_cast<std::size_t>(std::distance(keys.begin(), keys.find(key)));
}

double number_of(const std::string& text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Ranks, and ranks on a node.
using Ranks = std::pair<int, int>;

std::string ranks_name(const Ranks& ranks) {
  const auto [all, on_node] = ranks;
  if (on_node == 0 || all == on_node) return counted(all, "rank");
  return fmt::format("{}, {} a node", all, on_node);
}

/// Whether a row sends messages as training does, by any algorithm.
bool is_of_any_algorithm(const Measurement& row) {
  if (!is_timed(row) || !is_of_messages(row) || !row.series.contains("time")) return false;
  Measurement question;
  question.benchmark = row.benchmark;
  question.axes = row.axes;
  question.axes.erase("algorithm");
  return is_sent_as_in_training(question) && !axis_or_empty(row, "algorithm").empty() &&
         number_of(axis_or_empty(row, "bytes")) > 0;
}

using MessageTimes = std::map<std::pair<Ranks, double>, Timings>;

/// Times by the axes that a map does not have: collective, synchronization and memory. Where an
/// algorithm ran several times, or with several segments, its fastest counts.
std::map<Axes, MessageTimes> message_times(std::span<const ResultFile> results) {
  std::map<Axes, MessageTimes> all;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      if (!is_of_any_algorithm(row)) continue;
      Axes rest = row.axes;
      for (const char* name : {"algorithm", "bytes", "ranks", "ranks_on_node", "segments"}) {
        rest.erase(name);
      }
      const Ranks ranks{static_cast<int>(number_of(axis_or_empty(row, "ranks"))),
                        static_cast<int>(number_of(axis_or_empty(row, "ranks_on_node")))};
      const Timing timing = timing_of(row.at("time").summary);
      auto& timings = all[rest][{ranks, number_of(axis_or_empty(row, "bytes"))}];
      const auto [found, is_new] = timings.try_emplace(axis_or_empty(row, "algorithm"), timing);
      if (!is_new && timing.median < found->second.median) found->second = timing;
    }
  }
  return all;
}

/// "all_reduce, waiting sleep": the collective, and axes that tell its maps apart.
std::string message_title(const Axes& rest, const std::vector<std::string>& telling) {
  std::string title = axis_or_empty(rest, "collective");
  for (const std::string& name : telling) {
    if (name != "collective") title += fmt::format(", {} {}", name, axis_or_empty(rest, name));
  }
  return title;
}

CrossoverMap map_of(const std::string& title, const MessageTimes& times) {
  std::set<Ranks> ranks;
  std::set<double> sizes;
  for (const auto& [place, timings] : times) {
    ranks.insert(place.first);
    sizes.insert(place.second);
  }
  CrossoverMap map{title, "message size", {}, {}};
  for (const Ranks& each : ranks) map.rows.push_back(ranks_name(each));
  for (const double bytes : sizes) map.columns.push_back(to_text(Bytes(bytes)));
  for (const auto& [place, timings] : times) {
    map.add(index_in(ranks, place.first), index_in(sizes, place.second), timings);
  }
  return map;
}

/// A filter and an image, in their order: first by area.
using FilterKey = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using ImageKey = std::pair<std::int64_t, std::int64_t>;

FilterKey filter_of(const ConvolutionShape& shape) {
  return {shape.kernel_h * shape.kernel_w, shape.kernel_h, shape.stride, shape.groups};
}

std::string filter_name(const FilterKey& filter) {
  const auto [area, height, stride, groups] = filter;
  std::string name = fmt::format("{} × {}", height, area / height);
  if (stride != 1) name += fmt::format(", stride {}", stride);
  if (groups != 1) name += fmt::format(", {} groups", groups);
  return name;
}

/// Times of the shapes at each place.
using ShapeTimes = std::map<std::pair<FilterKey, ImageKey>, std::vector<Timings>>;

ShapeTimes shape_times(const std::map<std::string, Rows>& kernels) {
  ShapeTimes times;
  for (const auto& [kernel, rows] : kernels) {
    const auto parsed = parse_convolution_key(kernel, 1);
    if (!parsed) continue;
    Timings timings;
    for (const Measurement* row : ranking(by_algorithm(rows))) {
      timings[algorithm_of(*row)] = timing_of(row->at("time").summary);
    }
    if (timings.empty()) continue;
    const ConvolutionShape& shape = parsed->shape;
    times[{filter_of(shape), {shape.height * shape.width, shape.height}}].push_back(timings);
  }
  return times;
}

CrossoverMap map_of(const std::string& title, const ShapeTimes& times) {
  std::set<FilterKey> filters;
  std::set<ImageKey> images;
  for (const auto& [place, cases] : times) {
    filters.insert(place.first);
    images.insert(place.second);
  }
  CrossoverMap map{title, "height and width of the input, pixels", {}, {}};
  for (const FilterKey& filter : filters) map.rows.push_back(filter_name(filter));
  for (const auto& [area, height] : images) {
    map.columns.push_back(area == height * height ? std::to_string(height)
                                                  : fmt::format("{} × {}", height, area / height));
  }
  for (const auto& [place, cases] : times) {
    map.add(index_in(filters, place.first), index_in(images, place.second), mean_of(cases));
  }
  return map;
}

/// Rows by kernel and pass, under the condition that most kernels were measured under.
std::map<std::string, std::map<std::string, Rows>> kernels_by_pass(
    std::span<const ResultFile> results, Axes& condition) {
  std::map<Axes, std::map<std::string, std::map<std::string, Rows>>> all;
  for (const Measurement* row : algorithm_rows(results)) {
    Axes rest = condition_of(*row);
    rest.erase("network");
    all[rest][axis_or_empty(*row, "pass")][axis_or_empty(*row, "kernel")].push_back(row);
  }
  if (all.empty()) return {};
  const auto kernels = [](const auto& each) {
    std::size_t count = 0;
    for (const auto& [pass, rows] : each.second) count += rows.size();
    return count;
  };
  const auto most = std::ranges::max_element(all, {}, kernels);
  condition = most->first;
  return most->second;
}

}  // namespace

std::optional<Figure> message_crossover(std::span<const ResultFile> results) {
  const std::map<Axes, MessageTimes> all = message_times(results);
  std::vector<Axes> rests;
  for (const auto& [rest, times] : all) rests.push_back(rest);
  const std::vector<std::string> telling = varying_axes(rests);
  std::vector<CrossoverMap> maps;
  for (const auto& [rest, times] : all) maps.push_back(map_of(message_title(rest, telling), times));
  return figure_of(
      std::move(maps),
      {"message_crossover", "The fastest algorithm of a collective by size and ranks", "ranks"});
}

std::optional<Figure> convolution_crossover(std::span<const ResultFile> results) {
  Axes condition;
  const auto passes = kernels_by_pass(results, condition);
  condition["network"] = "all layers";
  std::vector<CrossoverMap> maps;
  for (const Pass pass : convolution_passes) {
    const auto found = passes.find(std::string(pass_name(pass)));
    if (found == passes.end()) continue;
    maps.push_back(map_of(fmt::format("{}, {}", found->first, condition_text(condition)),
                          shape_times(found->second)));
  }
  return figure_of(std::move(maps),
                   {"crossover", "The fastest convolution by filter and image", "filter"});
}

}  // namespace dlscale::report::figure
