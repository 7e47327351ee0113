#include "report/figure/canvas.hpp"

#include <fmt/format.h>

#include "report/format/text_width.hpp"

namespace dlscale::report::figure {
namespace {

constexpr std::string_view style =
    ".own{--ink:#1b1f24;--soft:#4d5661;--grid:#dde2e7;--band:#e9edf1;--c0:#0072b2;--c1:#d55e00;"
    "--c2:#009e73;--c3:#7d838b;--c4:#b3568c;--c5:#3f9bd0;--c6:#b37a00;"
    "font:13px system-ui,\"DejaVu Sans\",sans-serif;max-width:100%;height:auto}"
    "@media screen and (prefers-color-scheme:dark){.own{--ink:#e4e8ec;--soft:#a9b3be;"
    "--grid:#343c45;--band:#252c34;--c0:#56a8e0;--c1:#f08a4b;--c2:#3fc79d;--c3:#9aa2ab;"
    "--c4:#dd93bd;--c5:#8accf2;--c6:#e6b04a}}"
    ".own text{fill:var(--ink)}.own .soft{fill:var(--soft)}.own .bold{font-weight:600}"
    ".own .grid{stroke:var(--grid);fill:none}.own .axis{stroke:var(--soft);fill:none}"
    ".own .band{fill:var(--band)}.own .dash{stroke:var(--soft);stroke-dasharray:4 3;fill:none}"
    ".own .hollow{fill:none;stroke-width:1.5}.own .wide{stroke-width:2;fill:none}"
    ".own .faint{opacity:.22}.own .dots{stroke-width:7;stroke-linecap:round;fill:none}"
    ".own .c0{fill:var(--c0)}.own .c1{fill:var(--c1)}.own .c2{fill:var(--c2)}"
    ".own .c3{fill:var(--c3)}.own .c4{fill:var(--c4)}.own .c5{fill:var(--c5)}"
    ".own .c6{fill:var(--c6)}.own .s0{stroke:var(--c0)}.own .s1{stroke:var(--c1)}"
    ".own .s2{stroke:var(--c2)}.own .s3{stroke:var(--c3)}.own .s4{stroke:var(--c4)}"
    ".own .s5{stroke:var(--c5)}.own .s6{stroke:var(--c6)}";

std::string points_text(std::span<const Point> points) {
  std::string out;
  for (const Point& point : points) {
    out += fmt::format("{}{:.2f},{:.2f}", out.empty() ? "" : " ", point.x, point.y);
  }
  return out;
}

std::string_view anchor_word(Anchor anchor) {
  switch (anchor) {
    case Anchor::start:
      return "start";
    case Anchor::middle:
      return "middle";
    case Anchor::end:
      return "end";
  }
  return "start";
}

/// The end of a shape, with its title if it has one.
std::string closed(std::string_view tag, std::string_view title) {
  if (title.empty()) return "/>\n";
  return fmt::format("><title>{}</title></{}>\n", format::escape_markup(title), tag);
}

}  // namespace

void Canvas::line(Point from, Point to, std::string_view classes) {
  body_ +=
      fmt::format("<line x1=\"{:.2f}\" y1=\"{:.2f}\" x2=\"{:.2f}\" y2=\"{:.2f}\" class=\"{}\"/>\n",
                  from.x, from.y, to.x, to.y, classes);
}

void Canvas::lines(std::span<const Point> points, std::string_view classes) {
  body_ += fmt::format("<polyline points=\"{}\" class=\"{}\"/>\n", points_text(points), classes);
}

void Canvas::area(std::span<const Point> outline, std::string_view classes) {
  body_ += fmt::format("<polygon points=\"{}\" class=\"{}\"/>\n", points_text(outline), classes);
}

void Canvas::rect(const Box& box, std::string_view classes, std::string_view title,
                  double opacity) {
  const std::string faint =
      opacity < 1 ? fmt::format(" fill-opacity=\"{:.3f}\"", opacity) : std::string{};
  body_ += fmt::format(
      "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" class=\"{}\"{}", box.x,
      box.y, box.width, box.height, classes, faint);
  body_ += closed("rect", title);
}

void Canvas::circle(Point centre, double radius, std::string_view classes, std::string_view title) {
  body_ += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:.2f}\" class=\"{}\"", centre.x,
                       centre.y, radius, classes);
  body_ += closed("circle", title);
}

void Canvas::dots(std::span<const Point> centres, std::string_view classes) {
  std::string path;
  for (const Point& centre : centres) path += fmt::format("M{:.1f} {:.1f}h0", centre.x, centre.y);
  body_ += fmt::format("<path d=\"{}\" class=\"dots {}\"/>\n", path, classes);
}

void Canvas::text(Point at, std::string_view text, Anchor anchor, std::string_view classes,
                  std::string_view title) {
  const std::string hint =
      title.empty() ? "" : fmt::format("<title>{}</title>", format::escape_markup(title));
  body_ +=
      fmt::format("<text x=\"{:.2f}\" y=\"{:.2f}\" text-anchor=\"{}\" class=\"{}\">{}{}</text>\n",
                  at.x, at.y, anchor_word(anchor), classes, hint, format::escape_markup(text));
}

void Canvas::upright(Point middle, std::string_view text) {
  body_ += fmt::format(
      "<text transform=\"translate({:.2f} {:.2f}) rotate(-90)\" text-anchor=\"middle\" "
      "class=\"soft\">{}</text>\n",
      middle.x, middle.y, format::escape_markup(text));
}

std::string Canvas::svg(std::string_view title, std::string_view description) const {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"own\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">\n<title>{2}</title>\n"
      "<desc>{3}</desc>\n<style>{4}</style>\n{5}</svg>\n",
      width_, height_, format::escape_markup(title), format::escape_markup(description), style,
      body_);
}

std::string fill_class(std::size_t index) {
  return fmt::format("c{}", index % colours);
}

std::string stroke_class(std::size_t index) {
  return fmt::format("s{}", index % colours);
}

}  // namespace dlscale::report::figure
