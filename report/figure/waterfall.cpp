#include "report/figure/waterfall.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {
namespace {

constexpr double step_row = 28;
constexpr double step_bar = 16;
constexpr double left_of_steps = 150;
constexpr double right_of_steps = 156;

/// A bar of the drawing, s.
struct WaterfallBar {
  std::string name;
  double from = 0;
  double to = 0;
  std::string text;  ///< behind it
  const char* colour = "c3";
  std::optional<double> low = {};  ///< ends of the interval of `to`
  std::optional<double> high = {};
};

std::string step_text(double seconds, double whole) {
  return fmt::format("{}{} ms ({})", seconds < 0 ? "−" : "+",
                     significant(1e3 * std::abs(seconds), 3), signed_percent(seconds / whole));
}

std::vector<WaterfallBar> spans_of(const Waterfall& it) {
  const auto total = [](double time) { return fmt::format("{} ms", significant(1e3 * time, 4)); };
  std::vector<WaterfallBar> bars{{"A", 0, it.before, total(it.before)}};
  double level = it.before;
  for (const WaterfallStep& step : it.steps) {
    const double from = level;
    level += step.seconds;
    if (std::abs(step.seconds) < 1e-3 * it.before) continue;
    bars.push_back({step.name, from, level, step_text(step.seconds, it.before),
                    step.seconds > 0 ? "c1" : "c0"});
    if (!step.low || !step.high) continue;
    bars.back().low = from + *step.low;
    bars.back().high = from + *step.high;
  }
  bars.push_back({"B", 0, it.after, total(it.after)});
  return bars;
}

/// The axis: from 0, or from shortly below the smallest level where changes would be invisible.
Scale scale_of(const std::vector<WaterfallBar>& bars) {
  double low = HUGE_VAL;
  double high = 0;
  for (const WaterfallBar& bar : bars) {
    const double least = std::min(bar.from, bar.to);
    if (least > 0) low = std::min(low, least);
    low = std::min(low, std::max(bar.from, bar.to));
    high = std::max({high, bar.from, bar.to, bar.high.value_or(0)});
  }
  const double changes = high - low;
  const bool from_zero = changes > 0.2 * high;
  return {from_zero ? 0 : 1e3 * std::max(0.0, low - changes), 1e3 * high};
}

Table numbers_of(const Waterfall& it) {
  Table table{"What changed from A to B, in ms",
              {{"part", Align::left}, {"change"}, {"95 % interval"}, {"of A"}},
              {},
              {fmt::format("A takes {} ms, B {} ms; + is longer", significant(1e3 * it.before, 4),
                           significant(1e3 * it.after, 4))}};
  for (const WaterfallStep& step : it.steps) {
    const bool known = step.low && step.high;
    table.rows.push_back(
        {{step.name},
         {fmt::format("{:+.3g}", 1e3 * step.seconds)},
         {known ? fmt::format("{:+.3g} to {:+.3g}", 1e3 * *step.low, 1e3 * *step.high) : "–"},
         {signed_percent(step.seconds / it.before)}});
  }
  return table;
}

void draw_span(Canvas& canvas, const Scale& x, const WaterfallBar& bar, double y) {
  const double from = x.at(std::max(x.low, 1e3 * std::min(bar.from, bar.to)));
  const double to = x.at(1e3 * std::max(bar.from, bar.to));
  canvas.text({left_of_steps - 10, y + 12}, cut_to_width(bar.name, 20), Anchor::end);
  canvas.rect({from, y, std::max(1.0, to - from), step_bar}, bar.colour,
              fmt::format("{}: {}", bar.name, bar.text));
  double text_from = to;
  if (bar.low && bar.high) {
    const double low = x.at(std::max(x.low, 1e3 * *bar.low));
    const double high = x.at(std::max(x.low, 1e3 * *bar.high));
    const double middle = y + step_bar / 2;
    canvas.line({low, middle}, {high, middle}, "axis");
    for (const double end : {low, high}) {
      canvas.line({end, middle - 4}, {end, middle + 4}, "axis");
    }
    text_from = std::max(to, high);
  }
  canvas.text({text_from + 6, y + 12}, bar.text);
  const double next = x.at(std::max(x.low, 1e3 * bar.to));
  canvas.line({next, y + step_bar}, {next, y + step_row}, "axis");
}

}  // namespace

std::optional<Figure> waterfall(const Waterfall& it) {
  if (!(it.before > 0) || !(it.after > 0)) return {};
  const std::vector<WaterfallBar> bars = spans_of(it);
  const double height = step_row * static_cast<double>(bars.size());
  Canvas canvas(figure_width, height + 54);
  const Frame frame =
      frame_in({left_of_steps, 4, figure_width - left_of_steps - right_of_steps, height},
               scale_of(bars), {0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {},
            frame.x.low > 0 ? "time, ms (lower is better); the axis does not begin at 0"
                            : "time, ms (lower is better)",
            "");
  double y = 8;
  for (const WaterfallBar& bar : bars) {
    draw_span(canvas, frame.x, bar, y);
    y += step_row;
  }
  const bool known =
      std::ranges::any_of(bars, [](const WaterfallBar& bar) { return bar.low.has_value(); });
  const std::string title = fmt::format("What changed from A to B: {}{}", it.subject,
                                        known ? "; whiskers: 95 % interval of a change" : "");
  const std::string alt = fmt::format(
      "A waterfall from {} ms to {} ms by parts of the iteration. The table of numbers says the "
      "same.",
      significant(1e3 * it.before, 4), significant(1e3 * it.after, 4));
  return Figure{"waterfall", title, alt, canvas.svg(title, alt), "waterfall.svg", numbers_of(it)};
}

}  // namespace dlscale::report::figure
