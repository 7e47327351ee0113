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
constexpr double limit_row = 18;
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

/// "stage 1, 56.6 GB": the name of a bar and its sum.
std::string label_of(const StackedBar& bar, const std::string& unit) {
  constexpr std::size_t widest_name = 16;
  const std::string sum = fmt::format("{} {}", significant(total_of(bar), 3), unit);
  return bar.name.empty() ? sum : cut_to_width(bar.name, widest_name) + ", " + sum;
}

/// Room of the labels on the left of bars, px.
double left_of(std::span<const StackedBar> bars, const std::string& unit) {
  double widest = 0;
  for (const StackedBar& bar : bars) {
    widest = std::max(widest, glyph * static_cast<double>(display_width(label_of(bar, unit))));
  }
  return widest + 16;
}

/// Room on the right, where remarks are; else that of half the text of a tick.
double right_of(std::span<const StackedBar> bars) {
  double widest = 0;
  for (const StackedBar& bar : bars) {
    widest = std::max(widest, glyph * static_cast<double>(display_width(bar.remark)));
  }
  return widest + 24;
}

/// The label of a part.
struct PartLabel {
  std::string text;
  std::size_t part = 0;
  std::optional<double> middle = {};  ///< of the part in the longest bar, px; absent if it lacks it
  double from = 0;                    ///< of the text
  double width = 0;
};

/// Parts below this share of a bar have no label.
bool is_visible(const StackedBar& bar, std::size_t part) {
  return bar.parts[part].value >= 0.005 * sum_of(bar) && bar.parts[part].value > 0;
}

/// Labels beside one another, near to their parts in the longest bar; of parts that others alone
/// have, behind those.
std::vector<PartLabel> labels_of(const Scale& x, std::span<const StackedBar> bars) {
  const StackedBar& longest = *std::ranges::max_element(bars, {}, sum_of);
  std::vector<PartLabel> labels;
  std::vector<double> wanted;
  std::vector<double> widths;
  double done = 0;
  for (std::size_t i = 0; i < longest.parts.size(); ++i) {
    const StackPart& part = longest.parts[i];
    const double middle = x.at(done + part.value / 2);
    done += part.value;
    const bool is_here = is_visible(longest, i);
    if (std::ranges::none_of(bars, [i](const StackedBar& bar) { return is_visible(bar, i); })) {
      continue;
    }
    const double width = glyph * static_cast<double>(display_width(part.name));
    labels.push_back({part.name, i, is_here ? std::optional(middle) : std::nullopt, 0, width});
    wanted.push_back(is_here ? middle - width / 2 : x.at(sum_of(longest)));
    widths.push_back(width);
  }
  const std::vector<double> places = spread(wanted, widths, 4, figure_width - 4, label_gap);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i].from = places[i];
  return labels;
}

/// Labels above the bars, each with a line down to the middle of its part in the longest bar, or
/// with a mark of its colour.
void draw_labels(Canvas& canvas, const Scale& x, std::span<const StackedBar> bars) {
  for (const PartLabel& label : labels_of(x, bars)) {
    canvas.text({label.from, 14}, label.text);
    if (!label.middle) {
      canvas.rect({label.from, 18, label.width, 4}, fill_class(label.part));
      continue;
    }
    canvas.line({std::clamp(*label.middle, label.from, label.from + label.width), 18},
                {*label.middle, top - 4}, stroke_class(label.part) + " wide");
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
  canvas.text({x.from - 8, y + 12}, label_of(bar, unit), Anchor::end);
  draw_interval(canvas, x, bar, y + height / 2);
  if (!bar.remark.empty()) canvas.text({x.at(end_of(bar)) + 6, y + 12}, bar.remark);
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

/// The bars, with a line across them at the limit, which leaves out headings.
void draw_bars(Canvas& canvas, const Scale& x, std::span<const StackedBar> bars,
               const StackedBars& figure) {
  double y = top + 4;
  std::string group;
  for (const StackedBar& bar : bars) {
    if (bar.group != group) {
      canvas.text({4, y + 14}, cut_to_width(bar.group, 86), Anchor::start, "bold");
      y += group_row;
      group = bar.group;
    }
    draw_bar(canvas, x, bar, y, figure.unit);
    if (figure.limit) {
      canvas.line({x.at(*figure.limit), y - 4}, {x.at(*figure.limit), y + bar_row - 4}, "dash");
    }
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

/// The value of the limit below the bars, on that side of its line which has more room.
void draw_limit(Canvas& canvas, const Frame& frame, const StackedBars& figure) {
  if (!figure.limit) return;
  const double x = frame.x.at(*figure.limit);
  const bool is_left = x > figure_width / 2;
  canvas.line({x, frame.y.from - limit_row}, {x, frame.y.from}, "dash");
  canvas.text({x + (is_left ? -5 : 5), frame.y.from - 5},
              fmt::format("limit {} {}", significant(*figure.limit, 3), figure.unit),
              is_left ? Anchor::end : Anchor::start, "soft");
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
  const double height = height_of(shown) + (figure.limit ? limit_row : 0);
  const double left = left_of(shown, figure.unit);
  Canvas canvas(figure_width, top + height + 44);
  const Frame frame =
      frame_in({left, top, figure_width - left - right_of(shown), height}, {0, longest}, {0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {}, figure.axis, "");
  draw_labels(canvas, frame.x, shown);
  draw_limit(canvas, frame, figure);
  draw_bars(canvas, frame.x, shown, figure);
  std::string title = figure.title;
  if (!figure.interval.empty()) {
    const char* const sum = figure.bars.front().parts.size() > 1 ? " of the sum" : "";
    title += fmt::format("; whiskers: {}{}", figure.interval,
                         figure.whiskers.empty() ? sum : " of " + figure.whiskers);
  }
  if (shown.size() < figure.bars.size()) {
    title += fmt::format(" ({} more{}{} are not drawn)",
                         (figure.bars.size() - shown.size()) / figure.bars_each,
                         figure.counted.empty() ? "" : " ", figure.counted);
  }
  const std::string alt =
      fmt::format("{}: stacked bars in {}, {}. The table of numbers says the same.", figure.title,
                  figure.unit, counted(static_cast<long long>(shown.size()), "bar"));
  return Figure{figure.name,       title, alt, canvas.svg(title, alt), figure.name + ".svg",
                numbers_of(figure)};
}

}  // namespace dlscale::report::figure
