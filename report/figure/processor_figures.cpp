#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/display_width.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/figures.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"

namespace dlscale::report::figure {

namespace {

using model::HierarchicalRoofline;
using model::PlacedKernel;

constexpr double roofline_panel = 330;
constexpr std::size_t most_named = colours - 1;  ///< algorithms with a colour of their own
constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

using Kernels = std::vector<const PlacedKernel*>;

double gflops(FlopsPerSecond rate) {
  return 1e-9 * rate.si();
}

/// Kernels in the most common state of the caches.
Kernels under_one_condition(std::span<const PlacedKernel> placed) {
  std::map<std::string, Kernels> by_cache;
  for (const PlacedKernel& each : placed) by_cache[each.sample->what.way.cache].push_back(&each);
  if (by_cache.empty()) return {};
  return std::ranges::max_element(by_cache, {}, [](const auto& each) { return each.second.size(); })
      ->second;
}

/// Index of each algorithm's colour. The algorithms with most marks have their own; all others
/// share one.
std::map<std::string, std::size_t> colours_of(const Kernels& kernels) {
  std::map<std::string, std::size_t> marks;
  for (const PlacedKernel* each : kernels) ++marks[each->sample->what.way.algorithm()];
  std::vector<std::pair<std::string, std::size_t>> order(marks.begin(), marks.end());
  std::ranges::stable_sort(order, std::greater{}, &std::pair<std::string, std::size_t>::second);
  std::map<std::string, std::size_t> found;
  for (std::size_t i = 0; i < order.size(); ++i) found[order[i].first] = std::min(i, most_named);
  return found;
}

/// All panels have the same axes, so that passes can be compared.
Frame roofline_frame(const Kernels& kernels, const HierarchicalRoofline& roofline, const Box& box) {
  double left = 1e300;
  double right = 0;
  double low = gflops(roofline.peak());
  for (const model::MemoryLevel& level : roofline.levels()) {
    right = std::max(right, (roofline.peak() / level.bandwidth).si());
  }
  for (const PlacedKernel* each : kernels) {
    left = std::min(left, each->intensity.si());
    right = std::max(right, each->intensity.si());
    low = std::min(low, gflops(each->executed));
  }
  left = std::min(left, right / 4);
  return frame_in(box, {left / 1.5, right * 1.5, 0, 1, Spacing::logarithmic},
                  {low / 1.5, gflops(roofline.peak()) * 2, 0, 1, Spacing::logarithmic});
}

/// Draws the slopes of memory up to the peak, the peak, and the lower ceilings of arithmetic.
/// Returns labels of the flat ceilings.
std::vector<SideLabel> draw_ceilings(Canvas& canvas, const Frame& frame,
                                     const HierarchicalRoofline& roofline) {
  const double peak = gflops(roofline.peak());
  std::vector<SideLabel> labels;
  const auto flat = [&](double rate, const std::string& name, const char* classes) {
    if (rate < frame.y.low) return;
    const double y = frame.y.at(rate);
    canvas.line({frame.x.from, y}, {frame.x.to, y}, classes);
    labels.push_back({{frame.x.to, y},
                      cut_to_width(fmt::format("{} {}", significant(rate, 3), name), 20),
                      "axis",
                      "soft",
                      name});
  };
  flat(peak, "peak", "axis wide");
  for (const model::ArithmeticCeiling& each : roofline.ceilings()) {
    flat(gflops(each.rate), each.name, "dash");
  }
  double names_from = frame.x.from;
  for (const model::MemoryLevel& level : roofline.levels()) {
    const double slope = 1e-9 * level.bandwidth.si();
    const double from = std::max(frame.x.low, frame.y.low / slope);
    const double ridge = peak / slope;
    if (from >= ridge) continue;
    canvas.line({frame.x.at(from), frame.y.at(slope * from)}, {frame.x.at(ridge), frame.y.at(peak)},
                "axis");
    const double width = glyph * static_cast<double>(display_width(level.name));
    const double at = std::max(names_from, frame.x.at(ridge) - width / 2);
    canvas.text({at, frame.y.at(peak) - 6}, level.name, Anchor::start, "soft",
                fmt::format("{}: {} GB/s", level.name, significant(slope, 3)));
    names_from = at + width + 8;
  }
  return labels;
}

/// A label of each colour among the kernels of a pass, with a line to its rightmost mark.
std::vector<SideLabel> algorithm_labels(const Frame& frame, const Kernels& kernels, Pass pass,
                                        const std::map<std::string, std::size_t>& chosen) {
  std::map<std::size_t, SideLabel> labels;
  for (const PlacedKernel* each : kernels) {
    const model::Way& way = each->sample->what.way;
    if (way.pass != pass) continue;
    const std::size_t colour = chosen.at(way.algorithm());
    const Point at{frame.x.at(each->intensity.si()), frame.y.at(gflops(each->executed))};
    const auto [found, is_new] =
        labels.try_emplace(colour, SideLabel{at, way.algorithm(), stroke_class(colour), "", ""});
    SideLabel& label = found->second;
    if (!is_new && label.text != way.algorithm()) label.text = "other algorithms";
    if (at.x > label.at.x) label.at = at;
  }
  std::vector<SideLabel> all;
  for (const auto& [colour, label] : labels) all.push_back(label);
  return all;
}

const std::string& layer_of(const model::KernelSample& sample) {
  return sample.layers.empty() ? sample.what.kernel : sample.layers.front();
}

std::string title_of(const PlacedKernel& kernel) {
  const model::KernelSample& sample = *kernel.sample;
  std::string title = fmt::format("{}, batch {}, {}: {} FLOP/B, {} GFLOP/s", layer_of(sample),
                                  sample.what.batch, sample.what.way.algorithm(),
                                  significant(kernel.intensity.si(), 3), giga(kernel.executed));
  if (const auto share = kernel.share()) title += fmt::format(", {} of roofline", percent(*share));
  return title;
}

/// Marks of the kernels of a pass; with titles if they are few enough to point at.
void draw_kernels(Canvas& canvas, const Frame& frame, const Kernels& kernels, Pass pass,
                  const std::map<std::string, std::size_t>& chosen) {
  constexpr std::size_t most_titles = 300;
  std::map<std::size_t, std::vector<Point>> dots;
  for (const PlacedKernel* each : kernels) {
    if (each->sample->what.way.pass != pass) continue;
    const Point at{frame.x.at(each->intensity.si()), frame.y.at(gflops(each->executed))};
    const std::size_t colour = chosen.at(each->sample->what.way.algorithm());
    if (kernels.size() > most_titles) {
      dots[colour].push_back(at);
    } else {
      canvas.circle(at, 3.5, fill_class(colour), title_of(*each));
    }
  }
  for (const auto& [colour, points] : dots) canvas.dots(points, stroke_class(colour));
}

/// The marks of a roofline, the farthest below it first; at most 200.
Table kernel_numbers(const Kernels& kernels) {
  constexpr std::size_t most = 200;
  Kernels order = kernels;
  std::ranges::stable_sort(order, {},
                           [](const PlacedKernel* kernel) { return kernel->share().value_or(2); });
  Table table{"Convolutions under the roofline, the farthest below it first",
              {{"layer", Align::left},
               {"pass", Align::left},
               {"batch"},
               {"algorithm", Align::left},
               {"FLOP/B"},
               {"GFLOP/s"},
               {"of roofline"}},
              {},
              {}};
  for (const PlacedKernel* kernel : std::span(order).first(std::min(most, order.size()))) {
    const model::KernelSample& sample = *kernel->sample;
    const auto share = kernel->share();
    table.rows.push_back({{layer_of(sample)},
                          {std::string(pass_name(sample.what.way.pass))},
                          {std::to_string(sample.what.batch)},
                          {sample.what.way.algorithm()},
                          {significant(kernel->intensity.si(), 3)},
                          {giga(kernel->executed)},
                          {share ? percent(*share) : "–"}});
  }
  if (order.size() > most) {
    table.notes.push_back(fmt::format("{} more are nearer to it", order.size() - most));
  }
  return table;
}

constexpr double latency_frame_height = 240;
constexpr double capacity_row = 18;

/// A sweep of working sets, ascending.
struct Sweep {
  std::string name;
  std::vector<Point> points;  ///< bytes, ns
  /// Capacities of the levels that end within the range of sizes, bytes.
  std::vector<double> found;
  std::vector<double> told;  ///< capacities that the system reports, bytes
};

std::string sweep_name(const Measurement& row) {
  std::string name;
  for (const char* axis : {"pages", "ranks_on_node"}) {
    const std::string value = axis_or_empty(row, axis);
    if (value.empty() || (value == "1" && axis == std::string_view("ranks_on_node"))) continue;
    name += fmt::format("{}{} {}", name.empty() ? "" : ", ", axis, value);
  }
  return name;
}

Sweep sweep_of(const Measurement& row) {
  Sweep sweep{sweep_name(row), {}, {}, values_of(row, "told_capacity")};
  const std::vector<double> sizes = values_of(row, "working_set");
  const std::vector<double> latencies = values_of(row, "latency");
  for (std::size_t i = 0; i < std::min(sizes.size(), latencies.size()); ++i) {
    sweep.points.push_back({sizes[i], 1e9 * latencies[i]});
  }
  std::ranges::sort(sweep.points, {}, &Point::x);
  const std::vector<double> capacity = values_of(row, "level_capacity");
  const std::vector<double> high = values_of(row, "level_capacity_high");
  for (std::size_t i = 0; i < std::min(capacity.size(), high.size()); ++i) {
    if (high[i] > capacity[i]) sweep.found.push_back(capacity[i]);
  }
  return sweep;
}

/// All sweeps of an operation with latencies in seconds.
std::vector<Sweep> sweeps_of(std::span<const ResultFile> results, std::string_view operation) {
  std::vector<Sweep> sweeps;
  for (const ResultFile& file : results) {
    for (const Measurement& row : file.measurements) {
      const bool wanted = row.benchmark == "latency" &&
                          axis_or_empty(row, "operation") == operation && is_timed(row);
      if (!wanted || !row.series.contains("latency") || row.at("latency").unit != "s") continue;
      Sweep sweep = sweep_of(row);
      if (sweep.points.size() > 1) sweeps.push_back(std::move(sweep));
    }
  }
  return sweeps;
}

Frame latency_frame(const std::vector<Sweep>& sweeps, const Box& box) {
  double from = 1e300;
  double to = 0;
  double low = 1e300;
  double high = 0;
  for (const Sweep& sweep : sweeps) {
    for (const Point& point : sweep.points) {
      from = std::min(from, point.x);
      to = std::max(to, point.x);
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  return frame_in(box, {from / 1.3, to * 1.3, 0, 1, Spacing::logarithmic},
                  {low / 1.5, high * 1.5, 0, 1, Spacing::logarithmic});
}

/// The capacities within the frame.
std::vector<double> shown_of(const Frame& frame, const std::vector<double>& capacities) {
  std::vector<double> shown;
  for (const double bytes : capacities) {
    if (bytes >= frame.x.low && bytes <= frame.x.high) shown.push_back(bytes);
  }
  std::ranges::sort(shown);
  return shown;
}

/// A line at each capacity, up to `y` above the frame.
void draw_capacities(Canvas& canvas, const Frame& frame, const std::vector<double>& capacities,
                     double y, const std::string& classes) {
  for (const double bytes : shown_of(frame, capacities)) {
    canvas.line({frame.x.at(bytes), frame.y.from}, {frame.x.at(bytes), y + 4}, classes);
  }
}

/// A row of texts at `y` above these lines. `what` is in tooltips.
void draw_capacity_texts(Canvas& canvas, const Frame& frame, const std::vector<double>& capacities,
                         double y, const std::string& what) {
  std::vector<std::string> texts;
  std::vector<double> wanted;
  std::vector<double> widths;
  for (const double bytes : shown_of(frame, capacities)) {
    texts.push_back(to_text(Bytes(bytes)));
    widths.push_back(glyph * static_cast<double>(display_width(texts.back())));
    wanted.push_back(frame.x.at(bytes) - widths.back() / 2);
  }
  const std::vector<double> places = spread(wanted, widths, frame.x.from, figure_width - 4, 8);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    canvas.text({places[i], y}, texts[i], Anchor::start, "soft", what + " " + texts[i]);
  }
}

void draw_sweep(Canvas& canvas, const Frame& frame, const Sweep& sweep, std::size_t index) {
  std::vector<Point> line;
  for (const Point& point : sweep.points) {
    line.push_back({frame.x.at(point.x), frame.y.at(point.y)});
  }
  canvas.lines(line, stroke_class(index) + " wide");
  for (std::size_t i = 0; i < line.size(); ++i) {
    canvas.circle(line[i], 2.5, fill_class(index),
                  fmt::format("{}: {}, {} ns", sweep.name, to_text(Bytes(sweep.points[i].x)),
                              significant(sweep.points[i].y, 3)));
  }
}

/// The heading above the frame of a panel.
struct SweepRows {
  std::vector<std::string> names = {};      ///< of sweeps; repeated ones share a colour
  std::set<std::vector<double>> told = {};  ///< capacities that the system reports
  [[nodiscard]] double height() const {
    return 26 + capacity_row * static_cast<double>(names.size() + told.size());
  }
};

SweepRows rows_above(const std::vector<Sweep>& sweeps) {
  SweepRows rows;
  for (const Sweep& sweep : sweeps) {
    if (std::ranges::find(rows.names, sweep.name) == rows.names.end()) {
      rows.names.push_back(sweep.name);
    }
    if (!sweep.told.empty()) rows.told.insert(sweep.told);
  }
  return rows;
}

double panel_height(const std::vector<Sweep>& sweeps) {
  return rows_above(sweeps).height() + latency_frame_height + 54;
}

void draw_sweeps(Canvas& canvas, double y, const std::string& title,
                 const std::vector<Sweep>& sweeps) {
  constexpr double names_width = 110;
  const SweepRows rows = rows_above(sweeps);
  canvas.text({4, y + 12}, title, Anchor::start, "bold");
  const double top = y + rows.height();
  const Frame frame =
      latency_frame(sweeps, {70, top, figure_width - 80 - names_width, latency_frame_height});
  draw_axes(canvas, frame, size_ticks(frame.x), decade_ticks(frame.y), "working set",
            "latency of an access, ns (lower is better)");
  double at = y + 30;
  for (const auto& each : rows.told) {
    canvas.text({4, at}, "system:", Anchor::start, "soft");
    draw_capacities(canvas, frame, each, at, "dash");
    draw_capacity_texts(canvas, frame, each, at, "cache as the system names it:");
    at += capacity_row;
  }
  std::vector<SideLabel> labels;
  for (std::size_t i = 0; i < rows.names.size(); ++i, at += capacity_row) {
    canvas.text({4, at}, "found:", Anchor::start, "soft");
    for (const Sweep& sweep : sweeps) {
      if (sweep.name != rows.names[i]) continue;
      draw_capacities(canvas, frame, sweep.found, at, stroke_class(i));
      draw_sweep(canvas, frame, sweep, i);
      if (labels.size() > i) continue;  // a repeat
      draw_capacity_texts(canvas, frame, sweep.found, at, sweep.name + ", level ends at");
      const Point& last = sweep.points.back();
      labels.push_back(
          {{frame.x.at(last.x), frame.y.at(last.y)}, sweep.name, stroke_class(i), "", ""});
    }
  }
  draw_side_labels(canvas, {frame.x.to + 2, top, names_width, latency_frame_height},
                   std::move(labels));
}

void append_points(Table& table, const std::vector<Sweep>& sweeps) {
  for (const Sweep& sweep : sweeps) {
    for (const Point& point : sweep.points) {
      table.rows.push_back({{sweep.name}, {to_text(Bytes(point.x))}, {significant(point.y, 3)}});
    }
  }
}

}  // namespace

std::optional<Figure> roofline(const KernelStudy& study) {
  if (!study.roofline()) return {};
  const Kernels kernels = under_one_condition(study.placed());
  if (kernels.empty()) return {};
  const auto chosen = colours_of(kernels);
  std::vector<Pass> measured;
  for (const Pass pass : passes) {
    const auto is_of = [pass](const auto* each) { return each->sample->what.way.pass == pass; };
    if (std::ranges::any_of(kernels, is_of)) measured.push_back(pass);
  }
  Canvas canvas(figure_width, roofline_panel * static_cast<double>(measured.size()));
  double y = 4;
  for (const Pass pass : measured) {
    canvas.text({70, y + 8}, pass_name(pass), Anchor::start, "bold");
    const Frame frame = roofline_frame(kernels, *study.roofline(),
                                       {70, y + 14, figure_width - 250, roofline_panel - 70});
    draw_axes(canvas, frame, decade_ticks(frame.x), decade_ticks(frame.y),
              "operations of the algorithm a byte", "executed GFLOP/s (higher is better)");
    std::vector<SideLabel> labels = draw_ceilings(canvas, frame, *study.roofline());
    draw_kernels(canvas, frame, kernels, pass, chosen);
    std::ranges::move(algorithm_labels(frame, kernels, pass, chosen), std::back_inserter(labels));
    draw_side_labels(canvas, {frame.x.to + 2, frame.y.to, 178, frame.y.from - frame.y.to},
                     std::move(labels));
    y += roofline_panel;
  }
  const model::Way& way = kernels.front()->sample->what.way;
  const std::string title =
      fmt::format("Convolutions under the measured ceilings, f32, {}, {} caches",
                  counted(way.threads, "thread"), way.cache);
  const std::string alt = fmt::format(
      "Rooflines with logarithmic axes, a panel a pass: operations a second of {} against their "
      "operations a byte, below the ceilings of memory levels and arithmetic. The tables have the "
      "numbers.",
      counted(static_cast<long long>(kernels.size()), "kernel"));
  return Figure{
      "roofline", title, alt, canvas.svg(title, alt), "roofline.svg", kernel_numbers(kernels)};
}

std::optional<Figure> latency(std::span<const ResultFile> results) {
  std::vector<std::pair<std::string, std::vector<Sweep>>> panels;
  for (const auto& [operation, title] :
       {std::pair{"levels", "Pointer chase along a random cycle"},
        std::pair{"page_reach", "One line of each page: the reach of the TLBs"}}) {
    std::vector<Sweep> sweeps = sweeps_of(results, operation);
    if (!sweeps.empty()) panels.emplace_back(title, std::move(sweeps));
  }
  if (panels.empty()) return {};
  double height = 0;
  for (const auto& [title, sweeps] : panels) height += panel_height(sweeps);
  Canvas canvas(figure_width, height);
  double y = 0;
  for (const auto& [title, sweeps] : panels) {
    draw_sweeps(canvas, y, title, sweeps);
    y += panel_height(sweeps);
  }
  const std::string title = "Latency of a pointer chase, and what asking for pages adds";
  const std::string alt = fmt::format(
      "Latency of an access against the working set, both axes logarithmic, with the capacities of "
      "caches as measured and as the system names them, in {}. The table of levels has the "
      "numbers.",
      counted(static_cast<long long>(panels.size()), "panel"));
  Table numbers{"Latency of an access by working set",
                {{"chase", Align::left}, {"working set"}, {"latency ns"}},
                {},
                {}};
  for (const auto& [name, sweeps] : panels) append_points(numbers, sweeps);
  return Figure{"latency", title, alt, canvas.svg(title, alt), "latency.svg", std::move(numbers)};
}

}  // namespace dlscale::report::figure
