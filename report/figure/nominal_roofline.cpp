#include "report/figure/nominal_roofline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"

namespace dlscale::report::figure {
namespace {

using model::NominalRoofline;
using model::NominalWork;
using model::RooflineBounds;

constexpr double roof_height = 340;
constexpr double bar_step = 24;
constexpr std::size_t most_layer_bars = 15;

double gflops_of(Flops work, Seconds time) {
  return 1e-9 * (work / time).si();
}

/// Groups with operations, bytes and time: those that have a place under the roofline.
std::vector<LayerGroup> placed_groups(const NominalRooflineView& view) {
  std::vector<LayerGroup> groups = layer_groups(view);
  std::erase_if(groups, [](const LayerGroup& group) {
    return group.work.executed <= Flops() || group.work.memory <= Bytes() ||
           group.work.time <= Seconds();
  });
  return groups;
}

/// Colour by kind of layer; the kinds that take longest have their own, all others the last.
std::map<std::string, std::size_t> kind_colours(const std::vector<LayerGroup>& groups) {
  std::map<std::string, std::size_t> colours_of_kinds;
  for (const LayerGroup& group : groups) {
    const std::size_t next = std::min(colours_of_kinds.size(), colours - 1);
    colours_of_kinds.try_emplace(group.kind, next);
  }
  return colours_of_kinds;
}

Frame roof_frame(const NominalRoofline& roofline, const std::vector<LayerGroup>& groups,
                 const Box& box) {
  const double ridge = (roofline.peak / roofline.memory).si();
  double left = ridge / 4;
  double right = ridge * 4;
  double low = 1e-9 * roofline.peak.si();
  for (const LayerGroup& group : groups) {
    left = std::min(left, group.work.intensity().si());
    right = std::max(right, group.work.intensity().si());
    low = std::min(low, gflops_of(group.work.executed, group.work.time));
  }
  return frame_in(box, {left / 1.5, right * 1.5, 0, 1, Spacing::logarithmic},
                  {low / 1.5, 2e-9 * roofline.peak.si(), 0, 1, Spacing::logarithmic});
}

SideLabel draw_flat(Canvas& canvas, const Frame& frame, FlopsPerSecond rate, const char* name,
                    const char* classes) {
  const double y = frame.y.at(1e-9 * rate.si());
  canvas.line({frame.x.from, y}, {frame.x.to, y}, classes);
  return {{frame.x.to, y}, fmt::format("{} {}", to_text(rate), name), "axis", "soft", ""};
}

void draw_slope(Canvas& canvas, const Frame& frame, FlopsPerSecond peak, BytesPerSecond rate,
                const char* name) {
  const double slope = 1e-9 * rate.si();
  const double top = 1e-9 * peak.si();
  const double from = std::max(frame.x.low, frame.y.low / slope);
  const double ridge = top / slope;
  if (from >= ridge) return;
  canvas.line({frame.x.at(from), frame.y.at(slope * from)}, {frame.x.at(ridge), frame.y.at(top)},
              "axis wide");
  canvas.text({frame.x.at(ridge), frame.y.at(top) - 6}, name, Anchor::middle, "soft",
              fmt::format("{}: {}", name, to_text(rate)));
}

/// Returns labels of the flat ceilings.
std::vector<SideLabel> draw_roof(Canvas& canvas, const Frame& frame,
                                 const NominalRoofline& roofline) {
  const bool tensor = roofline.peak > roofline.core_peak;
  std::vector<SideLabel> labels{
      draw_flat(canvas, frame, roofline.peak, tensor ? "tensor cores" : "peak", "axis wide")};
  if (tensor) {
    labels.push_back(draw_flat(canvas, frame, roofline.core_peak, "ordinary cores", "dash"));
  }
  draw_slope(canvas, frame, roofline.peak, roofline.memory, "memory");
  if (roofline.shared) {
    draw_slope(canvas, frame, roofline.peak, *roofline.shared, "shared memory");
  }
  return labels;
}

Point mark_of(const Frame& frame, const LayerGroup& group) {
  return {frame.x.at(group.work.intensity().si()),
          frame.y.at(gflops_of(group.work.executed, group.work.time))};
}

/// A label of each colour, with a line to the mark of its group that takes longest.
std::vector<SideLabel> kind_labels(const Frame& frame, const std::vector<LayerGroup>& groups,
                                   const std::map<std::string, std::size_t>& kinds) {
  std::map<std::size_t, SideLabel> labels;
  for (const LayerGroup& group : groups) {
    const std::size_t colour = kinds.at(group.kind);
    const auto [found, is_new] = labels.try_emplace(
        colour, SideLabel{mark_of(frame, group), group.kind, stroke_class(colour), "", ""});
    if (!is_new && found->second.text != group.kind) found->second.text = "others";
  }
  std::vector<SideLabel> all;
  for (const auto& [colour, label] : labels) all.push_back(label);
  return all;
}

std::string mark_title(const LayerGroup& group) {
  const NominalWork& work = group.work;
  return fmt::format("{} ({}): {} FLOP/B, {} GFLOP/s, {}", group.text(), group.kind,
                     significant(work.intensity().si(), 3),
                     significant(gflops_of(work.executed, work.time), 3), to_text(work.time));
}

/// A mark at the operations a byte of memory, its area in proportion to the time.
void draw_marks(Canvas& canvas, const Frame& frame, const std::vector<LayerGroup>& groups,
                const std::map<std::string, std::size_t>& kinds) {
  if (groups.empty()) return;
  const Seconds longest = groups.front().work.time;
  for (const LayerGroup& group : groups) {
    const Point at = mark_of(frame, group);
    const double radius = 2.5 + 7.5 * std::sqrt(group.work.time / longest);
    canvas.circle(at, radius, fill_class(kinds.at(group.kind)) + " faint", mark_title(group));
    canvas.circle(at, 2.5, fill_class(kinds.at(group.kind)), mark_title(group));
  }
}

/// A bound of a bar: its colour as a stroke, and its time.
struct Bound {
  const char* name;
  std::size_t colour;
  Seconds RooflineBounds::*time;
};
constexpr std::array bounds{Bound{"arithmetic", 1, &RooflineBounds::arithmetic},
                            Bound{"shared memory", 2, &RooflineBounds::shared},
                            Bound{"memory", 0, &RooflineBounds::memory}};

/// Names above the first bar: the bar, and the marks of its bounds.
void draw_bound_labels(Canvas& canvas, const Frame& frame, const NominalWork& work, double top) {
  struct Name {
    std::string text;
    std::string stroke;
    double x = 0;
  };
  std::vector<Name> names{{"time by the data sheet", "s3", frame.x.at(0.5e3 * work.time.si())}};
  for (const Bound& bound : bounds) {
    const Seconds time = work.bounds.*bound.time;
    if (time <= Seconds()) continue;
    names.push_back({fmt::format("{} alone", bound.name), stroke_class(bound.colour),
                     frame.x.at(1e3 * time.si())});
  }
  std::ranges::sort(names, {}, &Name::x);
  std::vector<double> wanted;
  std::vector<double> widths;
  for (const Name& name : names) {
    widths.push_back(glyph * static_cast<double>(name.text.size()));
    wanted.push_back(name.x - widths.back() / 2);
  }
  const std::vector<double> places = spread(wanted, widths, 4, figure_width - 4, 10);
  for (std::size_t i = 0; i < names.size(); ++i) {
    canvas.text({places[i], top - 16}, names[i].text);
    canvas.line({std::clamp(names[i].x, places[i], places[i] + widths[i]), top - 12},
                {names[i].x, top + 2}, names[i].stroke + " wide");
  }
}

/// The groups that take longest, with operations or without. Requires one.
void draw_bars(Canvas& canvas, double y, const NominalRooflineView& view) {
  std::vector<LayerGroup> groups = layer_groups(view);
  groups.resize(std::min(groups.size(), most_layer_bars));
  canvas.text({4, y}, "Time of the longest layers, all passes together", Anchor::start, "bold");
  const double top = y + 34;
  double longest = 0;
  for (const LayerGroup& group : groups) {
    longest = std::max({longest, group.work.time.si(), group.work.bounds.least().si()});
  }
  constexpr double left = 250;
  const Frame frame =
      frame_in({left, top, figure_width - left - 40, bar_step * static_cast<double>(groups.size())},
               {0, 1e3 * longest, 0, 1, Spacing::linear}, {0, 1, 0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {}, "ms", "");
  double at = top + 4;
  for (const LayerGroup& group : groups) {
    canvas.text({left - 8, at + 12}, group.text(), Anchor::end, "soft", group.kind);
    const double width = frame.x.at(1e3 * group.work.time.si()) - left;
    canvas.rect({left, at, width, bar_step - 8}, "c3", mark_title(group), 0.5);
    for (const Bound& bound : bounds) {
      const Seconds time = group.work.bounds.*bound.time;
      if (time <= Seconds()) continue;
      const double x = frame.x.at(1e3 * time.si());
      canvas.rect({x - 1.5, at - 2, 3, bar_step - 4}, fill_class(bound.colour),
                  fmt::format("{} alone: {}", bound.name, to_text(time)));
    }
    at += bar_step;
  }
  draw_bound_labels(canvas, frame, groups.front().work, top);
}

}  // namespace

Figure nominal_roofline(const NominalRooflineView& view) {
  const std::vector<LayerGroup> groups = placed_groups(view);
  const auto kinds = kind_colours(groups);
  const double bars =
      bar_step * static_cast<double>(std::min(layer_groups(view).size(), most_layer_bars));
  Canvas canvas(figure_width, roof_height + bars + 100);
  const NominalRoofline& roofline = view.placement.roofline;
  const Frame frame = roof_frame(roofline, groups, {70, 28, figure_width - 250, roof_height - 90});
  draw_axes(canvas, frame, decade_ticks(frame.x), decade_ticks(frame.y),
            "executed operations a byte of memory", "GFLOP/s by the data sheet (higher is better)");
  std::vector<SideLabel> labels = draw_roof(canvas, frame, roofline);
  draw_marks(canvas, frame, groups, kinds);
  std::ranges::move(kind_labels(frame, groups, kinds), std::back_inserter(labels));
  draw_side_labels(canvas, {frame.x.to + 2, 10, 178, frame.y.from - 10}, std::move(labels));
  draw_bars(canvas, roof_height + 16, view);
  const std::string title =
      fmt::format("{} under the data sheet of {}, batch {}, {}", view.network->name(), view.device,
                  view.run.batch, dtype_name(view.run.dtype));
  const std::string alt = fmt::format(
      "A roofline with logarithmic axes: operations a second of {} against their operations a "
      "byte, "
      "below the ceilings of the data sheet. Below, bars have the time of the longest layers, and "
      "marks what arithmetic and memory alone would take. The table has the numbers.",
      counted(static_cast<long long>(groups.size()), "group of layers"));
  return Figure{"roofline", title, alt, canvas.svg(title, alt), "roofline.svg"};
}

}  // namespace dlscale::report::figure
