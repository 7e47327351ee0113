#include "report/figure/stacked_bars.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double bar_row = 24;
constexpr double group_row = 22;
constexpr double top = 36;
constexpr double left_of_bars = 96;
constexpr double right_of_bars = 128;
constexpr double label_gap = 18;

double sum_of(const StackedBar& bar) {
  double sum = 0;
  for (const StackPart& part : bar.parts) sum += part.value;
  return sum;
}

double end_of(const StackedBar& bar) {
  return std::max(sum_of(bar), bar.high.value_or(0));
}

double total_of(const StackedBar& bar) {
  return bar.total.value_or(sum_of(bar));
}

/// The label of a part of a bar.
struct PartLabel {
  std::string text;
  std::size_t part = 0;
  double middle = 0;  ///< of the part, px
  double from = 0;    ///< of the text
  double width = 0;
};

/// Labels beside one another, near to their parts. Parts below 0.5 % of the bar have none.
std::vector<PartLabel> labels_of(const Scale& x, const StackedBar& bar) {
  std::vector<PartLabel> labels;
  std::vector<double> wanted;
  std::vector<double> widths;
  double done = 0;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const StackPart& part = bar.parts[i];
    const double middle = x.at((done + part.value / 2));
    done += part.value;
    if (part.value < 0.005 * sum_of(bar)) continue;
    const double width = glyph * static_cast<double>(display_width(part.name));
    labels.push_back({part.name, i, middle, 0, width});
    wanted.push_back(middle - width / 2);
    widths.push_back(width);
  }
  const std::vector<double> places = spread(wanted, widths, 4, figure_width - 4, label_gap);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i].from = places[i];
  return labels;
}

/// Labels above the parts of a bar, each with a line down to the middle of its part.
void draw_labels(Canvas& canvas, const Scale& x, const StackedBar& bar) {
  for (const PartLabel& label : labels_of(x, bar)) {
    canvas.text({label.from, 14}, label.text);
    canvas.line({std::clamp(label.middle, label.from, label.from + label.width), 18},
                {label.middle, top - 4}, stroke_class(label.part) + " wide");
  }
}

void draw_interval(Canvas& canvas, const Scale& x, const StackedBar& bar, double y) {
  if (!bar.low || !bar.high) return;
  const double from = x.at(*bar.low);
  const double to = x.at(*bar.high);
  canvas.line({from, y}, {to, y}, "axis");
  for (const double end : {from, to}) canvas.line({end, y - 4}, {end, y + 4}, "axis");
}

void draw_bar(Canvas& canvas, const Scale& x, const StackedBar& bar, double y,
              const std::string& unit) {
  constexpr double height = 16;
  const double sum = sum_of(bar);
  double done = 0;
  for (std::size_t i = 0; i < bar.parts.size(); ++i) {
    const double value = std::max(0.0, bar.parts[i].value);
    const double from = x.at(done);
    done += value;
    if (value == 0) continue;
    canvas.rect({from, y, x.at(done) - from, height}, fill_class(i),
                fmt::format("{}: {} {} {} ({})", bar.name, bar.parts[i].name, significant(value, 4),
                            unit, percent(value / sum)));
  }
  canvas.text({left_of_bars - 8, y + 12}, cut_to_width(bar.name, 13), Anchor::end);
  draw_interval(canvas, x, bar, y + height / 2);
  const std::string text = fmt::format("{} {}{}{}", significant(total_of(bar), 3), unit,
                                       bar.remark.empty() ? "" : " ", bar.remark);
  canvas.text({x.at(end_of(bar)) + 6, y + 12}, text);
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

void draw_bars(Canvas& canvas, const Scale& x, std::span<const StackedBar> bars,
               const std::string& unit) {
  double y = top + 4;
  std::string group;
  for (const StackedBar& bar : bars) {
    if (bar.group != group) {
      canvas.text({4, y + 14}, cut_to_width(bar.group, 86), Anchor::start, "bold");
      y += group_row;
      group = bar.group;
    }
    draw_bar(canvas, x, bar, y, unit);
    y += bar_row;
  }
}

/// The same with values in the figure's unit.
StackedBars in_its_unit(StackedBars figure) {
  const auto scale = [&figure](std::optional<double>& value) {
    if (value) *value *= figure.factor;
  };
  for (StackedBar& bar : figure.bars) {
    for (StackPart& part : bar.parts) part.value *= figure.factor;
    for (auto* each : {&bar.low, &bar.high, &bar.total}) scale(*each);
  }
  scale(figure.limit);
  return figure;
}

/// A line at the limit, with its value.
void draw_limit(Canvas& canvas, const Frame& frame, const StackedBars& figure) {
  if (!figure.limit) return;
  const double x = frame.x.at(*figure.limit);
  canvas.line({x, frame.y.from}, {x, frame.y.to}, "dash");
  canvas.text({x + 5, frame.y.from - 6},
              fmt::format("limit {} {}", significant(*figure.limit, 3), figure.unit), Anchor::start,
              "soft");
}

Table numbers_of(const StackedBars& figure) {
  Table table{fmt::format("{}, in {}", figure.title, figure.unit), {{"bar", Align::left}}, {}, {}};
  for (const StackPart& part : figure.bars.front().parts) table.columns.push_back({part.name});
  table.columns.push_back({"all"});
  if (!figure.interval.empty()) table.columns.push_back({figure.interval});
  const bool remarked =
      std::ranges::any_of(figure.bars, [](const StackedBar& bar) { return !bar.remark.empty(); });
  if (remarked) table.columns.push_back({figure.remarks});
  for (const StackedBar& bar : figure.bars) {
    std::vector<Cell> cells{{bar.group.empty() ? bar.name : bar.group + ": " + bar.name}};
    for (const StackPart& part : bar.parts) cells.push_back({significant(part.value, 4)});
    cells.push_back({significant(total_of(bar), 4)});
    if (!figure.interval.empty()) {
      cells.push_back({bar.low && bar.high
                           ? from_to(significant(*bar.low, 4), significant(*bar.high, 4))
                           : "–"});
    }
    if (remarked) cells.push_back({bar.remark});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

std::optional<Figure> stacked_bars(const StackedBars& asked) {
  const StackedBars figure = in_its_unit(asked);
  const auto shown = std::span(figure.bars).first(std::min(figure.bars.size(), figure.most));
  if (shown.empty()) return {};
  const double longest =
      std::max(end_of(*std::ranges::max_element(shown, {}, end_of)), figure.limit.value_or(0));
  if (!(longest > 0)) return {};
  const double height = height_of(shown);
  Canvas canvas(figure_width, top + height + 44);
  const Frame frame =
      frame_in({left_of_bars, top, figure_width - left_of_bars - right_of_bars, height},
               {0, longest}, {0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {}, figure.axis, "");
  draw_labels(canvas, frame.x, *std::ranges::max_element(shown, {}, sum_of));
  draw_limit(canvas, frame, figure);
  draw_bars(canvas, frame.x, shown, figure.unit);
  std::string title = figure.title;
  if (!figure.interval.empty()) {
    title += fmt::format("; whiskers: {}{}", figure.interval,
                         figure.bars.front().parts.size() > 1 ? " of the sum" : "");
  }
  if (shown.size() < figure.bars.size()) {
    title += fmt::format(" ({} more are not drawn)", figure.bars.size() - shown.size());
  }
  const std::string alt =
      fmt::format("{}: stacked bars in {}, {}. The table of numbers says the same.", figure.title,
                  figure.unit, counted(static_cast<long long>(shown.size()), "bar"));
  return Figure{figure.name,       title, alt, canvas.svg(title, alt), figure.name + ".svg",
                numbers_of(figure)};
}

}  // namespace dlscale::report::figure
