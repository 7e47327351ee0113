#include "report/figure/stacked_bars.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double bar_row = 24;
constexpr double group_row = 22;
constexpr double top = 36;
constexpr double left_of_bars = 96;
constexpr double right_of_bars = 104;
constexpr double glyph = 7;  ///< approximate width of a character, px

double sum_of(const StackedBar& bar) {
  double sum = 0;
  for (const StackPart& part : bar.parts) sum += part.seconds;
  return sum;
}

double end_of(const StackedBar& bar) {
  return std::max(sum_of(bar), bar.high.value_or(0));
}

/// Labels above the parts of a bar, each with a line down to the middle of its part. Parts below
/// 0.5 % of the bar have none.
void draw_labels(Canvas& canvas, const Scale& x, const StackedBar& bar) {
  const double sum = sum_of(bar);
  double done = 0;
  double free_from = 4;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const StackPart& part = bar.parts[i];
    const double middle = x.at(1e3 * (done + part.seconds / 2));
    done += part.seconds;
    if (part.seconds < 0.005 * sum) continue;
    const double text = glyph * static_cast<double>(display_width(part.name));
    const double at = std::max(free_from, middle - text / 2);
    canvas.text({at, 14}, part.name);
    canvas.line({std::clamp(middle, at, at + text), 18}, {middle, top - 4},
                stroke_class(i) + " wide");
    free_from = at + text + 12;
  }
}

void draw_interval(Canvas& canvas, const Scale& x, const StackedBar& bar, double y) {
  if (!bar.low || !bar.high) return;
  const double from = x.at(1e3 * *bar.low);
  const double to = x.at(1e3 * *bar.high);
  canvas.line({from, y}, {to, y}, "axis");
  for (const double end : {from, to}) canvas.line({end, y - 4}, {end, y + 4}, "axis");
}

void draw_bar(Canvas& canvas, const Scale& x, const StackedBar& bar, double y) {
  constexpr double height = 16;
  const double sum = sum_of(bar);
  double done = 0;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const double seconds = std::max(0.0, bar.parts[i].seconds);
    const double from = x.at(1e3 * done);
    done += seconds;
    if (seconds == 0) continue;
    canvas.rect({from, y, x.at(1e3 * done) - from, height}, fill_class(i),
                fmt::format("{}: {} {} ms ({})", bar.name, bar.parts[i].name,
                            significant(1e3 * seconds, 4), percent(seconds / sum)));
  }
  canvas.text({left_of_bars - 8, y + 12}, cut_to_width(bar.name, 13), Anchor::end);
  draw_interval(canvas, x, bar, y + height / 2);
  const std::string text = fmt::format("{} ms{}{}", significant(1e3 * sum, 3),
                                       bar.remark.empty() ? "" : " ", bar.remark);
  canvas.text({x.at(1e3 * end_of(bar)) + 6, y + 12}, text);
}

/// Height of the bars with their headings, px.
double height_of(std::span<const StackedBar> bars) {
  double height = 4;
  std::string group;
  for (const StackedBar& bar : bars) {
    height += bar_row + (bar.group == group ? 0 : group_row);
    group = bar.group;
  }
  return height;
}

void draw_bars(Canvas& canvas, const Scale& x, std::span<const StackedBar> bars) {
  double y = top + 4;
  std::string group;
  for (const StackedBar& bar : bars) {
    if (bar.group != group) {
      canvas.text({4, y + 14}, cut_to_width(bar.group, 86), Anchor::start, "bold");
      y += group_row;
      group = bar.group;
    }
    draw_bar(canvas, x, bar, y);
    y += bar_row;
  }
}

Table numbers_of(const StackedBars& figure) {
  Table table{figure.title + ", in ms", {{"bar", Align::left}}, {}, {}};
  for (const StackPart& part : figure.bars.front().parts) table.columns.push_back({part.name});
  table.columns.push_back({"sum"});
  if (!figure.interval.empty()) table.columns.push_back({figure.interval});
  const bool remarked =
      std::ranges::any_of(figure.bars, [](const StackedBar& bar) { return !bar.remark.empty(); });
  if (remarked) table.columns.push_back({"error"});
  for (const StackedBar& bar : figure.bars) {
    std::vector<Cell> cells{{bar.group.empty() ? bar.name : bar.group + ": " + bar.name}};
    for (const StackPart& part : bar.parts) cells.push_back({milliseconds(Seconds(part.seconds))});
    cells.push_back({milliseconds(Seconds(sum_of(bar)))});
    if (!figure.interval.empty()) {
      cells.push_back({bar.low && bar.high ? fmt::format("{} – {}", milliseconds(Seconds(*bar.low)),
                                                         milliseconds(Seconds(*bar.high)))
                                           : "–"});
    }
    if (remarked) cells.push_back({bar.remark});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

std::optional<Figure> stacked_bars(const StackedBars& figure) {
  const auto shown = std::span(figure.bars).first(std::min(figure.bars.size(), figure.most));
  if (shown.empty()) return {};
  const double longest = end_of(*std::ranges::max_element(shown, {}, end_of));
  if (!(longest > 0)) return {};
  const double height = height_of(shown);
  Canvas canvas(figure_width, top + height + 44);
  const Frame frame =
      frame_in({left_of_bars, top, figure_width - left_of_bars - right_of_bars, height},
               {0, 1e3 * longest}, {0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {}, figure.axis, "");
  draw_labels(canvas, frame.x, *std::ranges::max_element(shown, {}, sum_of));
  draw_bars(canvas, frame.x, shown);
  std::string title = figure.title;
  if (!figure.interval.empty()) title += fmt::format("; whiskers: {} of the sum", figure.interval);
  if (shown.size() < figure.bars.size()) {
    title += fmt::format(" ({} more are not drawn)", figure.bars.size() - shown.size());
  }
  const std::string alt =
      fmt::format("{}: stacked bars in milliseconds, {}. The table of numbers says the same.",
                  figure.title, counted(static_cast<long long>(shown.size()), "bar"));
  return Figure{figure.name,       title, alt, canvas.svg(title, alt), figure.name + ".svg",
                numbers_of(figure)};
}

}  // namespace dlscale::report::figure
