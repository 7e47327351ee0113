#include "report/format/curve_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/numbers.hpp"

namespace dlscale::report::format {
namespace {

/// Dots in a grid of characters, each 2 dots wide and 4 high.
class BrailleGrid {
 public:
  static constexpr int columns = 40;
  static constexpr int rows = 7;
  static constexpr int width = 2 * columns;
  static constexpr int height = 4 * rows;

  /// Sets a dot; (0, 0) is at the lower left.
  void set(int x, int y) {
    constexpr std::array<std::array<std::uint8_t, 4>, 2> bits{
        {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}};
    const auto column = static_cast<std::size_t>(std::clamp(x, 0, width - 1));
    const auto down = static_cast<std::size_t>(height - 1 - std::clamp(y, 0, height - 1));
    cells_.at(down / 4).at(column / 2) |= bits.at(column % 2).at(down % 4);
  }

  /// A row of characters from the top; blanks at its end are left out.
  [[nodiscard]] std::string row(int index) const {
    std::string text;
    std::size_t end = 0;
    for (const std::uint8_t cell : cells_.at(static_cast<std::size_t>(index))) {
      if (cell == 0) {
        text += ' ';
        continue;
      }
      text += '\xE2';
      text += static_cast<char>(0xA0U | (cell >> 6U));
      text += static_cast<char>(0x80U | (cell & 0x3FU));
      end = text.size();
    }
    return text.substr(0, end);
  }

 private:
  std::array<std::array<std::uint8_t, columns>, rows> cells_{};
};

/// Draws straight lines between the points, one dot in `each` columns of dots.
void draw(const Curve& curve, double Curve::Point::*value, double most_x, double most_y, int each,
          BrailleGrid& grid) {
  for (std::size_t i = 1; i < curve.points.size(); ++i) {
    const Curve::Point& from = curve.points[i - 1];
    const Curve::Point& to = curve.points[i];
    const auto column = [&](double x) {
      return static_cast<int>(std::lround(x / most_x * (BrailleGrid::width - 1)));
    };
    for (int x = column(from.x); x <= column(to.x); ++x) {
      if (x % each != 0) continue;
      const double at = x * most_x / (BrailleGrid::width - 1);
      const double share =
          to.x > from.x ? std::clamp((at - from.x) / (to.x - from.x), 0.0, 1.0) : 1.0;
      const double y = from.*value + share * (to.*value - from.*value);
      grid.set(x, static_cast<int>(std::lround(y / most_y * (BrailleGrid::height - 1))));
    }
  }
}

}  // namespace

std::string curve_text(const Curve& curve) {
  if (curve.points.size() < 3) return "";
  double most_y = 0;
  for (const Curve::Point& point : curve.points) {
    most_y = std::max({most_y, point.y, point.ideal});
  }
  const double most_x = curve.points.back().x;
  if (!(most_x > 0) || !(most_y > 0)) return "";
  BrailleGrid grid;
  constexpr int dotted = 4;
  draw(curve, &Curve::Point::ideal, most_x, most_y, dotted, grid);
  draw(curve, &Curve::Point::y, most_x, most_y, 1, grid);
  std::string text = fmt::format("{} (dotted: ideal)\n", curve.name);
  for (int row = 0; row < BrailleGrid::rows; ++row) {
    const std::string mark = row == 0                       ? significant(most_y, 3)
                             : row == BrailleGrid::rows - 1 ? "0"
                                                            : "";
    std::string line = fmt::format("{:>6}│{}", mark, grid.row(row));
    text += line + "\n";
  }
  const std::string last = significant(most_x, 6);
  return text + fmt::format("{:>6}0{:>{}}\n", "", last, BrailleGrid::columns);
}

}  // namespace dlscale::report::format
