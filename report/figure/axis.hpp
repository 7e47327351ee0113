#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {

/// How the values of an axis lie.
enum class Spacing { linear, logarithmic };

/// Values along one direction of a drawing, from `low` at pixel `from` to `high` at pixel `to`.
/// Requires low < high, and low > 0 where logarithmic.
struct Scale {
  double low = 0;
  double high = 1;
  double from = 0;
  double to = 1;
  Spacing spacing = Spacing::linear;
  [[nodiscard]] double at(double value) const;
};

struct Tick {
  double value = 0;
  std::string text;
};

/// About five values at steps of 1, 2 or 5 times a power of ten.
std::vector<Tick> linear_ticks(const Scale& scale);
/// Powers of ten, with 2 and 5 times them where these are few.
std::vector<Tick> decade_ticks(const Scale& scale);
/// Sizes in bytes at powers of 16: "1 KiB", "16 KiB", "256 KiB".
std::vector<Tick> size_ticks(const Scale& scale);
/// Each whole number of the list once.
std::vector<Tick> count_ticks(const std::vector<int>& counts);

/// Where a diagram draws: its box, both scales.
struct Frame {
  Scale x;
  Scale y;
};

/// The frame that fills a box; ranges of equal ends or without an extent are widened.
Frame frame_in(const Box& box, Scale x, Scale y);

/// Lines of the grid, ticks with their texts, and what the axes are.
void draw_axes(Canvas& canvas, const Frame& frame, const std::vector<Tick>& x_ticks,
               const std::vector<Tick>& y_ticks, std::string_view x_name, std::string_view y_name);

/// A coloured mark and its text for each entry, in a row that begins at `at`; returns the y below.
struct LegendEntry {
  std::string text;
  std::string classes;
};
double draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries);

/// A part of a stacked bar.
struct StackPart {
  std::string name;
  double seconds = 0;
};

/// A bar of parts one behind the other along `x`, which is in ms, in their order the colours of
/// fill_class(), with the sum behind it. `at`: its corner and height. `owner` names the bar where
/// a pointer rests. Returns the x where it ends.
double draw_stack(Canvas& canvas, const Scale& x, const Box& at,
                  const std::vector<StackPart>& parts, std::string_view owner);

}  // namespace dlscale::report::figure
