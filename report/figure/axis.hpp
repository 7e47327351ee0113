#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {

/// Spacing of the values along an axis.
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

/// About five ticks at steps of 1, 2 or 5 times a power of ten.
std::vector<Tick> linear_ticks(const Scale& scale);
/// Ticks at powers of ten, with 2 and 5 times them if there are few. Requires low > 0.
std::vector<Tick> decade_ticks(const Scale& scale);
/// Ticks of sizes in bytes at powers of 16: "1 KiB", "16 KiB", "256 KiB".
std::vector<Tick> size_ticks(const Scale& scale);
/// One tick for each distinct number of the list.
std::vector<Tick> count_ticks(const std::vector<int>& counts);

/// The two scales of a diagram.
struct Frame {
  Scale x;
  Scale y;
};

/// The frame that fills a box. Widens ranges that are empty.
Frame frame_in(const Box& box, Scale x, Scale y);

/// Draws the grid, the ticks with their texts, and the names of the axes, which may be empty and
/// say where a scale is logarithmic.
void draw_axes(Canvas& canvas, const Frame& frame, const std::vector<Tick>& x_ticks,
               const std::vector<Tick>& y_ticks, std::string_view x_name, std::string_view y_name);

/// Beginnings of labels of those sizes along one direction, in their order: `gap` apart, between
/// `low` and `high`, and together as near to the wanted ones as that allows (least squares). Labels
/// that do not fit run over `high`.
std::vector<double> spread(std::span<const double> wanted, std::span<const double> sizes,
                           double low, double high, double gap);

/// A text beside a drawing that names a line or a mark.
struct SideLabel {
  Point at;             ///< the end of the line, or the mark
  std::string text;     ///< "\n" begins a new line
  std::string stroke;   ///< class of a line from there to the text; empty: no line
  std::string classes;  ///< of the text
  std::string title;    ///< tooltip; may be empty
};
/// Draws labels in a column that fills `room`, each in as many lines as it takes, apart and as near
/// to the heights of what they name as that allows.
void draw_side_labels(Canvas& canvas, const Box& room, std::vector<SideLabel> labels);

/// An entry of a legend: a coloured mark and its text.
struct LegendEntry {
  std::string text;
  std::string classes;
};
inline constexpr std::size_t most_labelled = 6;  ///< series; more have a legend in place of labels
/// Draws the entries in a row that begins at `at`; returns the y below it.
double draw_legend(Canvas& canvas, Point at, double width, const std::vector<LegendEntry>& entries);

}  // namespace dlscale::report::figure
