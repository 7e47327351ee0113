#pragma once
#include <span>
#include <string>
#include <string_view>

namespace dlscale::report::figure {

/// Where a text stands in regard to its point.
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

/// An SVG drawing of our own: no script, no link, no font from elsewhere. Lengths in CSS pixels,
/// y downwards. Colours are classes (`c0` … `c6` fill, `s0` … `s6` stroke), which a style in the
/// drawing gives for light and dark pages, so that it looks the same inline and as a file of its
/// own. The palette is that of Okabe and Ito, which people with any kind of colour vision can tell
/// apart [M. Okabe & K. Ito, Color Universal Design (2008)].
class Canvas {
 public:
  Canvas(double width, double height) : width_(width), height_(height) {}

  void line(Point from, Point to, std::string_view classes);
  void lines(std::span<const Point> points, std::string_view classes);
  /// The area between a line and another back from its end.
  void area(std::span<const Point> outline, std::string_view classes);
  /// `title` shows where a pointer rests, and is what a screen reader says; may be empty.
  void rect(const Box& box, std::string_view classes, std::string_view title = {},
            double opacity = 1);
  void circle(Point centre, double radius, std::string_view classes, std::string_view title = {});
  void text(Point at, std::string_view text, Anchor anchor = Anchor::start,
            std::string_view classes = {}, std::string_view title = {});
  /// Read from below to above, around its middle.
  void upright(Point middle, std::string_view text);

  /// The drawing with its title and description for those who cannot see it.
  [[nodiscard]] std::string svg(std::string_view title, std::string_view description) const;

 private:
  double width_;
  double height_;
  std::string body_;
};

/// How many colours there are; series beyond begin anew.
inline constexpr std::size_t colours = 7;
/// "c3": the fill of the series of that index; "s3": its stroke.
std::string fill_class(std::size_t index);
std::string stroke_class(std::size_t index);

}  // namespace dlscale::report::figure
