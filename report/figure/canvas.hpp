#pragma once
#include <span>
#include <string>
#include <string_view>

namespace dlscale::report::figure {

/// Alignment of a text relative to its point.
enum class Anchor { start, middle, end };

struct Point {
  double x = 0;
  double y = 0;
};

struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
};

/// An SVG drawing without scripts, links or external fonts. Lengths are in CSS pixels, y downwards.
/// Colours are classes (`c0` … `c6` fill, `s0` … `s6` stroke). A style inside the drawing defines
/// them for light and dark pages, so it looks the same inline and as a separate file. The palette
/// of Okabe and Ito is distinguishable with any kind of colour vision [M. Okabe & K. Ito, Color
/// Universal Design (2008)].
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  void line(Point from, Point to, std::string_view classes);
  void lines(std::span<const Point> points, std::string_view classes);
  /// Fills the area between a line and another line back from its end.
  void area(std::span<const Point> outline, std::string_view classes);
  /// `title` is the tooltip and the text for screen readers; may be empty.
  void rect(const Box& box, std::string_view classes, std::string_view title = {},
            double opacity = 1);
  /// Marks of one size and colour without titles, for thousands of them: 7 px wide.
  void dots(std::span<const Point> centres, std::string_view classes);
  void circle(Point centre, double radius, std::string_view classes, std::string_view title = {});
  void text(Point at, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view classes = {}, std::string_view title = {});
  /// Text that reads upwards, centred at `middle`.
  void upright(Point middle, std::string_view text);

  /// The drawing, with a title and a description for screen readers.
  [[nodiscard]] std::string svg(std::string_view title, std::string_view description) const;

 private:
  double width_;
  double height_;
  std::string body_;
};

inline constexpr double figure_width =
    640;                              ///< width of every figure, px; readable on a page of 600
inline constexpr double glyph = 7.6;  ///< approximate width of a character, px
inline constexpr std::size_t most_panels = 12;  ///< panels of one figure

/// Number of colours; further series start again at the first.
inline constexpr std::size_t colours = 7;
/// "c3" is the fill of the series with that index, "s3" its stroke.
std::string fill_class(std::size_t index);
std::string stroke_class(std::size_t index);

}  // namespace dlscale::report::figure
