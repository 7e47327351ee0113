#include <algorithm>
#include <array>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/kernel_figures.hpp"

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

std::vector<LegendEntry> legend_of(const std::map<std::string, std::size_t>& chosen) {
  std::map<std::size_t, std::string> names;
  for (const auto& [algorithm, colour] : chosen) {
    std::string& name = names[colour];
    name = name.empty() ? algorithm : "other algorithms";
  }
  std::vector<LegendEntry> legend;
  for (const auto& [colour, name] : names) legend.push_back({name, fill_class(colour)});
  return legend;
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
void draw_ceilings(Canvas& canvas, const Frame& frame, const HierarchicalRoofline& roofline) {
  const double peak = gflops(roofline.peak());
  const auto flat = [&](double rate, const std::string& name, const char* classes) {
    if (rate < frame.y.low) return;
    const double y = frame.y.at(rate);
    canvas.line({frame.x.from, y}, {frame.x.to, y}, classes);
    canvas.text({frame.x.to + 6, y + 4}, fmt::format("{} {}", significant(rate, 3), name),
                Anchor::start, "soft");
  };
  flat(peak, "peak", "axis wide");
  for (const model::ArithmeticCeiling& each : roofline.ceilings()) {
    flat(gflops(each.rate), each.name, "dash");
  }
  for (const model::MemoryLevel& level : roofline.levels()) {
    const double slope = 1e-9 * level.bandwidth.si();
    const double from = std::max(frame.x.low, frame.y.low / slope);
    const double ridge = peak / slope;
    if (from >= ridge) continue;
    canvas.line({frame.x.at(from), frame.y.at(slope * from)}, {frame.x.at(ridge), frame.y.at(peak)},
                "axis");
    canvas.text({frame.x.at(ridge), frame.y.at(peak) - 6}, fmt::format("{}", level.name),
                Anchor::middle, "soft",
                fmt::format("{}: {} GB/s", level.name, significant(slope, 3)));
  }
}

std::string title_of(const PlacedKernel& kernel) {
  const model::KernelSample& sample = *kernel.sample;
  const std::string layer = sample.layers.empty() ? sample.what.kernel : sample.layers.front();
  std::string title = fmt::format("{}, batch {}, {}: {} FLOP/B, {} GFLOP/s", layer,
                                  sample.what.batch, sample.what.way.algorithm(),
                                  significant(kernel.intensity.si(), 3), giga(kernel.executed));
  if (const auto share = kernel.share()) title += fmt::format(", {} of roofline", percent(*share));
  return title;
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
  Canvas canvas(figure_width, 70 + roofline_panel * static_cast<double>(measured.size()));
  double y = draw_legend(canvas, {70, 14}, figure_width - 80, legend_of(chosen));
  for (const Pass pass : measured) {
    canvas.text({70, y + 8}, pass_name(pass), Anchor::start, "bold");
    const Frame frame = roofline_frame(kernels, *study.roofline(),
                                       {70, y + 14, figure_width - 250, roofline_panel - 70});
    draw_axes(canvas, frame, decade_ticks(frame.x), decade_ticks(frame.y),
              "operations of the algorithm a byte", "executed GFLOP/s (less is worse)");
    draw_ceilings(canvas, frame, *study.roofline());
    for (const PlacedKernel* each : kernels) {
      if (each->sample->what.way.pass != pass) continue;
      canvas.circle({frame.x.at(each->intensity.si()), frame.y.at(gflops(each->executed))}, 3.5,
                    fill_class(chosen.at(each->sample->what.way.algorithm())), title_of(*each));
    }
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
  return Figure{"roofline", title, alt, canvas.svg(title, alt), "roofline.svg"};
}

}  // namespace dlscale::report::figure
