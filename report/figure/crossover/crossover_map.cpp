#include "report/figure/crossover/crossover_map.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/display_width.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/results/rates.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double row_height = 28;
constexpr double line_height = 13;
constexpr double left_of_cells = 148;
constexpr std::size_t most_crossovers = 4;
constexpr std::string_view meaning_of_cells =
    "Filled: alone the fastest. Outlined: a tie, as 95 % intervals overlap. Empty: not measured.";

/// Whether several algorithms ran at two places, so that there is something to map.
bool compares(const CrossoverMap& map) {
  const auto has_next = [](const auto& cell) { return !cell.second.next.empty(); };
  return std::ranges::count_if(map.cells, has_next) > 1;
}

/// An algorithm as maps show it.
struct Shown {
  std::size_t colour = 0;  ///< in order of wins
  std::string name;        ///< without its backend, where no other has the rest
  std::string mark = {};   ///< for cells too narrow for the name: a letter, or a number
  [[nodiscard]] bool is_hatched() const { return colour >= colours; }
};
using ShownAlgorithms = std::map<std::string, Shown>;

/// The winners, the most frequent first.
std::vector<std::string> winners(std::span<const CrossoverMap> maps) {
  std::map<std::string, std::size_t> wins;
  for (const CrossoverMap& map : maps) {
    for (const auto& [place, winner] : map.cells) ++wins[winner.name];
  }
  std::vector<std::string> names;
  for (const auto& [name, count] : wins) names.push_back(name);
  std::ranges::stable_sort(names, std::ranges::greater(),
                           [&wins](const std::string& name) { return wins.at(name); });
  return names;
}

ShownAlgorithms shown_algorithms(const std::vector<std::string>& names) {
  const auto rest = [](const std::string& name) { return name.substr(name.find(' ') + 1); };
  std::map<std::string, std::size_t> counts;
  for (const std::string& name : names) ++counts[rest(name)];
  ShownAlgorithms shown;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Shown& one = shown[names[i]];
    one.colour = i;
    one.name = counts.at(rest(names[i])) == 1 ? rest(names[i]) : names[i];
    std::ranges::replace(one.name, '_', ' ');
  }
  return shown;
}

/// A text in at most two lines of that width; empty if it does not fit without a cut.
std::vector<std::string> lines_within(const std::string& words, double width) {
  constexpr std::size_t most_lines = 2;
  const auto room = static_cast<std::size_t>(std::max(0.0, width - 4) / glyph);
  if (room == 0) return {};
  std::istringstream text(wrapped(words, room, 0));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(std::move(line));
  const auto is_wide = [room](const std::string& line) { return display_width(line) > room; };
  if (lines.size() > most_lines || std::ranges::any_of(lines, is_wide)) return {};
  return lines;
}

/// Draws the lines of a text around `middle`.
void draw_lines(Canvas& canvas, Point middle, const std::vector<std::string>& lines,
                Anchor anchor) {
  double y = middle.y + 4 - line_height * (static_cast<double>(lines.size()) - 1) / 2;
  for (const std::string& line : lines) {
    canvas.text({middle.x, y}, line, anchor);
    y += line_height;
  }
}

/// The name of a row at its left, cut only where two lines do not hold it.
void draw_row_name(Canvas& canvas, const std::string& name, double y) {
  const Point middle{left_of_cells - 8, y + row_height / 2};
  const std::vector<std::string> lines = lines_within(name, left_of_cells - 12);
  if (!lines.empty()) {
    draw_lines(canvas, middle, lines, Anchor::end);
  } else {
    constexpr auto room = static_cast<std::size_t>((left_of_cells - 12) / glyph);
    canvas.text(middle, cut_to_width(name, room), Anchor::end, "", name);
  }
}

/// Cells of one row with the same winner beside one another; a tie stands for itself.
struct CellRun {
  std::size_t first = 0;
  std::size_t last = 0;
  const Winner* winner = nullptr;
  [[nodiscard]] bool is_tie() const { return !winner->ties.empty(); }
};

std::vector<CellRun> runs_of(const CrossoverMap& map, std::size_t row) {
  std::vector<CellRun> runs;
  for (std::size_t column = 0; column < map.columns.size(); ++column) {
    const auto found = map.cells.find({row, column});
    if (found == map.cells.end()) continue;
    const bool goes_on = !runs.empty() && runs.back().last + 1 == column &&
                         runs.back().winner->name == found->second.name &&
                         !runs.back().is_tie() && found->second.ties.empty();
    if (goes_on) {
      runs.back().last = column;
    } else {
      runs.push_back({column, column, &found->second});
    }
  }
  return runs;
}

double lead_of(const Winner& winner) {
  return winner.next_time.median / winner.time.median;
}

/// "1.0 ms to 1.2 ms"; "–" without an interval.
std::string interval_of(const CrossoverTime& time) {
  if (!std::isfinite(time.high)) return "–";
  return from_to(to_text(Seconds(time.low)), to_text(Seconds(time.high)));
}

std::string cell_title(const CrossoverMap& map, std::size_t row, std::size_t column,
                       const Winner& winner) {
  std::string second = winner.next.empty() ? "no other ran"
                                           : fmt::format("{} takes {} times as long", winner.next,
                                                         significant(lead_of(winner), 3));
  if (!winner.ties.empty()) {
    second += fmt::format("; a tie with {}, as their 95 % intervals overlap",
                          fmt::join(winner.ties, ", "));
  }
  return fmt::format("{}, {}: {} {} (95 % interval {}); {}", map.rows[row], map.columns[column],
                     winner.name, to_text(Seconds(winner.time.median)), interval_of(winner.time),
                     second);
}

/// Draws maps below one another, under the meaning of cells and a legend of the marks that stand
/// for names.
class MapDrawing {
 public:
  MapDrawing(Canvas& canvas, ShownAlgorithms shown, std::string row_name)
      : canvas_(&canvas), shown_(std::move(shown)), row_name_(std::move(row_name)) {}

  /// Returns the y below the maps.
  double draw(std::span<const CrossoverMap> maps) {
    canvas_->text({4, 12}, meaning_of_cells, Anchor::start, "soft");
    y_ = 18;
    std::map<std::size_t, Shown*> marked;  // by colour
    for (const CrossoverMap& map : maps) add_marked(map, marked);
    if (!marked.empty()) {
      y_ = draw_legend(*canvas_, {4, 32}, figure_width - 8, legend_of(marked));
    }
    for (const CrossoverMap& map : maps) draw_map(map);
    return y_;
  }

 private:
  /// The algorithms whose name some cells have no room for.
  void add_marked(const CrossoverMap& map, std::map<std::size_t, Shown*>& marked) {
    set_cell_width(map);
    for (std::size_t row = 0; row < map.rows.size(); ++row) {
      for (const CellRun& run : runs_of(map, row)) {
        Shown& one = shown_.at(run.winner->name);
        if (lines_within(one.name, width_of(run)).empty()) marked[one.colour] = &one;
      }
    }
  }

  /// Gives marks in order, so that the legend leaves none out.
  static std::vector<LegendEntry> legend_of(const std::map<std::size_t, Shown*>& marked) {
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::vector<LegendEntry> entries;
    for (const auto& [colour, one] : marked) {
      const std::size_t i = entries.size();
      one->mark = i < letters.size() ? std::string(1, letters[i]) : std::to_string(i);
      entries.push_back(
          {fmt::format("{}: {}{}", one->mark, one->name, one->is_hatched() ? " (hatched)" : ""),
           fill_class(colour)});
    }
    return entries;
  }

  void set_cell_width(const CrossoverMap& map) {
    constexpr double widest_cell = 90;
    const auto columns = static_cast<double>(map.columns.size());
    const double room = (figure_width - left_of_cells - 10) / columns;
    cell_width_ = std::clamp(std::floor(room), 1.0, widest_cell);
  }

  void draw_map(const CrossoverMap& map) {
    constexpr std::size_t widest_title = 82;
    std::istringstream title(wrapped(map.title, widest_title, 0));
    for (std::string line; std::getline(title, line); y_ += line_height) {
      canvas_->text({4, y_ + 12}, line, Anchor::start, "bold");
    }
    y_ += 22 - line_height;
    set_cell_width(map);
    for (std::size_t row = 0; row < map.rows.size(); ++row, y_ += row_height) {
      draw_row_name(*canvas_, map.rows[row], y_);
      draw_cells(map, row);
      for (const CellRun& run : runs_of(map, row)) draw_name(run);
    }
    draw_column_names(map);
  }

  [[nodiscard]] double x_of(std::size_t column) const {
    return left_of_cells + cell_width_ * static_cast<double>(column);
  }

  [[nodiscard]] double width_of(const CellRun& run) const {
    return x_of(run.last + 1) - x_of(run.first);
  }

  void draw_cells(const CrossoverMap& map, std::size_t row) {
    constexpr double strength = 0.5;
    constexpr double gap = 2;
    for (const CellRun& run : runs_of(map, row)) {
      const Shown& one = shown_.at(run.winner->name);
      for (std::size_t column = run.first; column <= run.last; ++column) {
        const Winner& winner = map.cells.at({row, column});
        const std::string title = cell_title(map, row, column, winner);
        const double width = cell_width_ - (column == run.last ? gap : 0);
        if (run.is_tie()) {
          canvas_->rect({x_of(column) + 1, y_ + 1, width - 2, row_height - 4},
                        "hollow " + stroke_class(one.colour), title);
        } else {
          canvas_->rect({x_of(column), y_, width, row_height - 2}, fill_class(one.colour), title,
                        strength);
        }
        hatch(one, column);
      }
    }
  }

  /// Tells algorithms beyond the last colour from those that have it too.
  void hatch(const Shown& one, std::size_t column) {
    constexpr double step = 8;
    if (!one.is_hatched()) return;
    for (double x = x_of(column) + step; x < x_of(column + 1) - 1; x += step) {
      canvas_->line({x, y_}, {x - step, y_ + row_height - 2}, stroke_class(one.colour));
    }
  }

  /// The name of the winner of neighbouring cells, or its mark where they are too narrow.
  void draw_name(const CellRun& run) {
    const Shown& one = shown_.at(run.winner->name);
    std::vector<std::string> lines = lines_within(one.name, width_of(run));
    if (lines.empty()) lines = {one.mark};
    const double middle = (x_of(run.first) + x_of(run.last + 1)) / 2;
    draw_lines(*canvas_, {middle, y_ + row_height / 2}, lines, Anchor::middle);
  }

  void draw_column_names(const CrossoverMap& map) {
    double free_from = 0;
    for (std::size_t column = 0; column < map.columns.size(); ++column) {
      const double middle = x_of(column) + cell_width_ / 2;
      const double half = glyph * static_cast<double>(display_width(map.columns[column])) / 2;
      if (middle - half < free_from) continue;
      canvas_->text({middle, y_ + 14}, map.columns[column], Anchor::middle, "soft");
      free_from = middle + half + 6;
    }
    canvas_->text({left_of_cells - 8, y_ + 14}, row_name_, Anchor::end, "soft");
    const double centre = (x_of(0) + x_of(map.columns.size())) / 2;
    canvas_->text({centre, y_ + 32}, map.x_name, Anchor::middle, "soft");
    y_ += 48;
  }

  Canvas* canvas_;
  ShownAlgorithms shown_;
  std::string row_name_;
  double y_ = 0;
  double cell_width_ = 0;
};

Table winners_table(std::span<const CrossoverMap> maps, const MapWords& words) {
  Table table{"The fastest algorithm",
              {{"", Align::left},
               {"", Align::left},
               {maps.front().x_name},
               {"fastest", Align::left},
               {"time"},
               {"95 % interval"},
               {"next", Align::left},
               {"times as long"},
               {"its 95 % interval"},
               {"ties with", Align::left}},
              {},
              {"A tie is where the 95 % intervals of two times overlap, or where one has none."}};
  table.columns[0].heading = "map";
  table.columns[1].heading = words.row_name;
  if (!words.means.empty()) table.notes.push_back(words.means);
  for (const CrossoverMap& map : maps) {
    for (const auto& [place, winner] : map.cells) {
      const bool alone = winner.next.empty();
      table.rows.push_back({{map.title},
                            {map.rows[place.first]},
                            {map.columns[place.second]},
                            {winner.name},
                            {to_text(Seconds(winner.time.median))},
                            {interval_of(winner.time)},
                            {winner.next},
                            {alone ? "–" : significant(lead_of(winner), 3)},
                            {alone ? "–" : interval_of(winner.next_time)},
                            {fmt::format("{}", fmt::join(winner.ties, ", "))}});
    }
  }
  return table;
}

/// The subject, and how many maps are not drawn; the drawing says what its cells mean.
std::string title_of(const MapWords& words, std::size_t drawn, std::size_t all) {
  std::string title = words.subject + ".";
  if (!words.means.empty()) title += " " + words.means;
  if (drawn < all) {
    title += fmt::format(" {} of {} maps are drawn; the table of numbers has all.", drawn, all);
  }
  return title;
}

}  // namespace

CrossoverTime crossover_time(const Summary& summary) {
  if (!has_interval(summary)) return {summary.median};
  return {summary.median, summary.ci95_low, summary.ci95_high};
}

CrossoverTime joined_time(std::vector<CrossoverTime> times) {
  EXPECT(!times.empty());
  std::ranges::stable_sort(times, {}, &CrossoverTime::median);
  CrossoverTime joined = times[times.size() / 2];
  for (const CrossoverTime& each : times) {
    joined.low = std::min(joined.low, each.low);
    joined.high = std::max(joined.high, each.high);
  }
  return joined;
}

CrossoverTimes geometric_mean(std::span<const CrossoverTimes> cases) {
  CrossoverTimes mean;
  for (const auto& [name, first] : cases.front()) {
    CrossoverTime product{1, 1, 1};
    const double power = 1 / static_cast<double>(cases.size());
    const auto multiply = [&, &name = name](const CrossoverTimes& each) {
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

std::optional<Winner> winner_of(const CrossoverTimes& times) {
  if (times.empty()) return {};
  const auto median = [](const auto& each) { return each.second.median; };
  const auto best = std::ranges::min_element(times, {}, median);
  Winner winner{best->first, best->second, {}};
  for (const auto& [name, time] : times) {
    if (name == best->first) continue;
    if (winner.next.empty() || time.median < winner.next_time.median) {
      winner.next = name;
      winner.next_time = time;
    }
    if (time.low <= best->second.high) winner.ties.push_back(name);
  }
  return winner;
}

std::optional<Figure> crossover_figure(std::vector<CrossoverMap> maps, const MapWords& words) {
  std::erase_if(maps, [](const CrossoverMap& map) { return !compares(map); });
  if (maps.empty()) return {};
  const std::span<const CrossoverMap> all(maps);
  const std::span<const CrossoverMap> drawn = all.first(std::min(all.size(), most_crossovers));
  const ShownAlgorithms shown = shown_algorithms(winners(drawn));
  Canvas scratch(figure_width, 0);
  Canvas canvas(figure_width, MapDrawing(scratch, shown, words.row_name).draw(drawn) + 4);
  MapDrawing(canvas, shown, words.row_name).draw(drawn);
  const std::string title = title_of(words, drawn.size(), all.size());
  const std::string alt =
      fmt::format("{}: {} of coloured cells with names. The table of numbers says the same.",
                  words.subject, counted(static_cast<long long>(drawn.size()), "map"));
  return Figure{words.name,
                title,
                alt,
                canvas.svg(title, alt),
                words.name + ".svg",
                winners_table(all, words)};
}

}  // namespace dlscale::report::figure
