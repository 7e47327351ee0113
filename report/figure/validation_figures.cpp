#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/figures.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report::figure {

namespace {

constexpr std::size_t most_runs = 48;
constexpr double phase_bar = 13;
constexpr double of_run = 2 * phase_bar + 22;  ///< its name, both bars, and space below
constexpr double left_of_phases = 90;
constexpr double right_of_phases = 130;

using Runs = std::vector<const RunValidation*>;

/// The runs of one network, batch and data type, which share an axis.
std::map<std::string, Runs> by_network(const Validation& validation) {
  std::map<std::string, Runs> networks;
  for (const RunValidation& run : validation.runs) {
    networks[fmt::format("{} · batch {} · {}", run.run.network, run.run.batch,
                         dtype_name(run.run.dtype))]
        .push_back(&run);
  }
  return networks;
}

/// Keeps `most_runs` of them and returns the number left out.
std::size_t drop_surplus(std::map<std::string, Runs>& networks) {
  std::size_t kept = 0;
  std::size_t dropped = 0;
  for (auto& [name, runs] : networks) {
    const std::size_t room = std::min(runs.size(), most_runs - kept);
    dropped += runs.size() - room;
    runs.resize(room);
    kept += room;
  }
  std::erase_if(networks, [](const auto& each) { return each.second.empty(); });
  return dropped;
}

std::vector<StackPart> phase_parts(const RunValidation& run, Seconds PhaseError::*side) {
  std::vector<StackPart> parts;
  for (const Phase& phase : iteration_phases) {
    const auto found = std::ranges::find(run.phases, phase.series, &PhaseError::phase);
    const Seconds time = found == run.phases.end() ? Seconds{} : (*found).*side;
    parts.push_back({std::string(phase.word), time.si()});
  }
  return parts;
}

void draw_run(Canvas& canvas, const Scale& x, double y, const RunValidation& run) {
  const std::string name =
      fmt::format("{}, {}", schedule_text(run.run), counted(run.run.ranks, "rank"));
  canvas.text({left_of_phases, y + 11}, name);
  const auto draw_side = [&](const char* side, Seconds PhaseError::*time, double at) {
    canvas.text({left_of_phases - 8, at + 10}, side, Anchor::end, "soft");
    return draw_stack(canvas, x, {left_of_phases, at, 0, phase_bar - 2}, phase_parts(run, time),
                      fmt::format("{}, {}", name, side));
  };
  draw_side("predicted", &PhaseError::predicted, y + 16);
  const double end = draw_side("measured", &PhaseError::measured, y + 16 + phase_bar);
  if (const auto error = run.iteration().error) {
    canvas.text({end + 60, y + 16 + phase_bar + 10}, signed_percent(*error), Anchor::start, "bold",
                "error of the iteration, (predicted − measured) / measured");
  }
}

double longest_ms(const Runs& runs) {
  double longest = 0;
  for (const RunValidation* run : runs) {
    longest = std::max(
        {longest, 1e3 * run->iteration().predicted.si(), 1e3 * run->iteration().measured.si()});
  }
  return longest;
}

double height_of(const Runs& runs) {
  return 26 + of_run * static_cast<double>(runs.size()) + 46;
}

void draw_network(Canvas& canvas, double y, const std::string& name, const Runs& runs) {
  canvas.text({4, y + 14}, name, Anchor::start, "bold");
  const Frame frame =
      frame_in({left_of_phases, y + 22, figure_width - left_of_phases - right_of_phases,
                height_of(runs) - 26 - 46},
               {0, longest_ms(runs)}, {0, 1});
  draw_axes(canvas, frame, linear_ticks(frame.x), {}, "time of an iteration, ms (more is worse)",
            "");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    draw_run(canvas, frame.x, y + 22 + of_run * static_cast<double>(i), *runs[i]);
  }
}

constexpr double panel_width = 340;
constexpr double speedup_panel = 220;

using SpeedupCurve = std::vector<model::Prediction>;

double rate(const Run& run, Seconds time) {
  return run.ranks * run.batch / time.si();
}

/// Whether a run was measured in the setting of the curve, except for the number of workers.
bool belongs(const RunValidation& measured, const Run& predicted) {
  Run run = measured.run;
  return run.network == predicted.network && run.batch == predicted.batch &&
         run.dtype == predicted.dtype && schedule_text(run) == schedule_text(predicted) &&
         measured.measured_low.si() > 0;
}

struct Panel {
  const SpeedupCurve* curve;
  std::vector<const RunValidation*> measured;
};

std::vector<Panel> panels_of(std::span<const SpeedupCurve> curves, const Validation& validation) {
  std::vector<Panel> panels;
  for (const SpeedupCurve& curve : curves) {
    if (curve.size() < 2) continue;
    Panel panel{&curve, {}};
    for (const RunValidation& run : validation.runs) {
      if (belongs(run, curve.front().run)) panel.measured.push_back(&run);
    }
    panels.push_back(std::move(panel));
  }
  if (panels.size() > most_panels) panels.resize(most_panels);
  return panels;
}

double ideal(const SpeedupCurve& curve, int ranks) {
  const model::Prediction& first = curve.front();
  return first.images_per_s / first.speedup * ranks;
}

Frame speedup_frame(const Panel& panel, const Box& box) {
  const SpeedupCurve& curve = *panel.curve;
  double low = rate(curve.front().run, curve.front().high.value_or(curve.front().time.total));
  double high = ideal(curve, curve.back().run.ranks);
  for (const RunValidation* run : panel.measured) {
    low = std::min(low, rate(run->run, run->measured_high));
    high = std::max(high, rate(run->run, run->measured_low));
  }
  return frame_in(box,
                  {static_cast<double>(curve.front().run.ranks) * 0.9,
                   static_cast<double>(curve.back().run.ranks) * 1.1, 0, 1, Spacing::logarithmic},
                  {low * 0.8, high * 1.25, 0, 1, Spacing::logarithmic});
}

void draw_speedup(Canvas& canvas, const Frame& frame, const SpeedupCurve& curve) {
  std::vector<Point> line;
  std::vector<Point> band;
  std::vector<Point> back;
  std::vector<Point> perfect;
  for (const model::Prediction& each : curve) {
    const double x = frame.x.at(each.run.ranks);
    line.push_back({x, frame.y.at(each.images_per_s)});
    perfect.push_back({x, frame.y.at(ideal(curve, each.run.ranks))});
    if (!each.low || !each.high || each.low->si() <= 0) continue;
    band.push_back({x, frame.y.at(rate(each.run, *each.low))});
    back.push_back({x, frame.y.at(rate(each.run, *each.high))});
  }
  band.insert(band.end(), back.rbegin(), back.rend());
  if (band.size() > 2) canvas.area(band, "c0 faint");
  canvas.lines(perfect, "dash");
  canvas.lines(line, "s0 wide");
}

void draw_measured(Canvas& canvas, const Frame& frame, const RunValidation& run) {
  const double x = frame.x.at(run.run.ranks);
  const double middle = rate(run.run, run.iteration().measured);
  canvas.line({x, frame.y.at(rate(run.run, run.measured_high))},
              {x, frame.y.at(rate(run.run, run.measured_low))}, "s1 wide");
  canvas.circle(
      {x, frame.y.at(middle)}, 4, "c1",
      fmt::format("{}: {} images/s measured, {} predicted", counted(run.run.ranks, "worker"),
                  significant(middle, 4), significant(run.prediction.images_per_s, 4)));
}

void draw_speedup_panel(Canvas& canvas, const Panel& panel, Point corner) {
  const SpeedupCurve& curve = *panel.curve;
  const Run& run = curve.front().run;
  canvas.text({corner.x, corner.y + 12},
              fmt::format("{} · {} · batch {}", run.network, schedule_text(run), run.batch),
              Anchor::start, "bold");
  const Frame frame =
      speedup_frame(panel, {corner.x + 62, corner.y + 22, panel_width, speedup_panel});
  std::vector<int> counts;
  for (const model::Prediction& each : curve) counts.push_back(each.run.ranks);
  draw_axes(canvas, frame, count_ticks(counts), decade_ticks(frame.y), "workers", "images/s");
  draw_speedup(canvas, frame, curve);
  for (const RunValidation* each : panel.measured) {
    const bool inside = each->run.ranks >= frame.x.low && each->run.ranks <= frame.x.high;
    if (inside) draw_measured(canvas, frame, *each);
  }
}

}  // namespace

std::optional<Figure> phase_bars(const Validation& validation) {
  std::map<std::string, Runs> networks = by_network(validation);
  if (networks.empty()) return {};
  const std::size_t dropped = drop_surplus(networks);
  std::vector<LegendEntry> legend;
  for (const Phase& phase : iteration_phases) {
    legend.push_back({std::string(phase.word), fill_class(legend.size())});
  }
  double height = 54;
  for (const auto& [name, runs] : networks) height += height_of(runs);
  Canvas canvas(figure_width, height);
  double y = draw_legend(canvas, {4, 14}, figure_width - 8, legend);
  for (const auto& [name, runs] : networks) {
    draw_network(canvas, y, name, runs);
    y += height_of(runs);
  }
  std::string title =
      "Phases of an iteration, predicted above measured, and the error of the whole";
  if (dropped > 0) title += fmt::format(" ({} more runs are not drawn)", dropped);
  const std::string alt = fmt::format(
      "Stacked bars of the phases of an iteration in milliseconds for {}; for each a predicted and "
      "a measured bar. The table of phases has the numbers.",
      counted(static_cast<long long>(validation.runs.size() - dropped), "run"));
  return Figure{"phases", title, alt, canvas.svg(title, alt), "phases.svg"};
}

std::optional<Figure> scaling(std::span<const SpeedupCurve> curves, const Validation& validation) {
  const std::vector<Panel> panels = panels_of(curves, validation);
  if (panels.empty()) return {};
  const double row = speedup_panel + 74;
  const auto rows = static_cast<double>((panels.size() + 1) / 2);
  Canvas canvas(figure_width, 30 + rows * row);
  draw_legend(canvas, {10, 14}, figure_width,
              {{"predicted, with its 90 % interval", "c0"},
               {"measured in the same setting, with its 95 % interval", "c1"},
               {"ideal (broken line)", "c3"}});
  for (std::size_t i = 0; i < panels.size(); ++i) {
    draw_speedup_panel(canvas, panels[i],
                       {10 + (figure_width / 2) * static_cast<double>(i % 2),
                        28 + row * static_cast<double>(i / 2)});
  }
  std::size_t measured = 0;
  for (const Panel& panel : panels) measured += panel.measured.size();
  const std::string title =
      "Throughput against the number of workers: predicted, measured and ideal (less is worse)";
  const std::string alt = fmt::format(
      "Images a second against workers, both axes logarithmic, {} with {}. The tables of "
      "predictions have the numbers.",
      counted(static_cast<long long>(panels.size()), "panel"),
      counted(static_cast<long long>(measured), "measured point"));
  return Figure{"speedup", title, alt, canvas.svg(title, alt), "speedup.svg"};
}

}  // namespace dlscale::report::figure
