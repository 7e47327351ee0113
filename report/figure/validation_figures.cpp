#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/figures.hpp"
#include "report/figure/speedup_lines.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/table/interval.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report::figure {

namespace {

constexpr std::size_t most_drawn = 10;  ///< bars, two for each configuration

std::vector<StackPart> phase_parts(const RunValidation& run, Seconds PhaseError::*side) {
  std::vector<StackPart> parts;
  for (const Phase& phase : iteration_phases) {
    const auto found = std::ranges::find(run.phases, phase.series, &PhaseError::phase);
    const Seconds time = found == run.phases.end() ? Seconds{} : (*found).*side;
    parts.push_back({std::string(phase.word), time.si()});
  }
  return parts;
}

std::optional<double> in_seconds(std::optional<Seconds> time) {
  return time ? std::optional(time->si()) : std::nullopt;
}

/// Error of the predicted iteration against the median measured one, which the bars show.
double shown_error(const RunValidation& run) {
  return run.iteration().predicted / run.iteration().measured - 1;
}

/// "-8.2 % (5 trainings: -31.0 % to +13.3 %)".
std::string error_text(const RunValidation& run) {
  const std::string text = signed_percent(shown_error(run));
  if (run.errors.size() < 2) return text;
  const auto [least, most] = std::ranges::minmax(run.errors);
  return fmt::format("{} ({}: {})", text, counted(run.repeats, "training"),
                     from_to(signed_percent(least), signed_percent(most)));
}

/// A predicted and a measured bar of a configuration.
void append_run(std::vector<StackedBar>& bars, const RunValidation& run) {
  const std::string group =
      fmt::format("{}, batch {}, {}, {}{}: {}", run.run.network, run.run.batch,
                  counted(run.run.ranks, "rank"), schedule_text(run.run),
                  run.build.empty() ? "" : ", " + run.build, error_text(run));
  bars.push_back({"predicted", group, phase_parts(run, &PhaseError::predicted),
                  in_seconds(run.prediction.low), in_seconds(run.prediction.high), "",
                  run.iteration().predicted.si()});
  bars.push_back({"measured",
                  group,
                  phase_parts(run, &PhaseError::measured),
                  {},
                  {},
                  "",
                  run.iteration().measured.si()});
  if (run.measured_low.si() <= 0) return;
  bars.back().low = run.measured_low.si();
  bars.back().high = run.measured_high.si();
}

/// Whether a run was measured in the setting of the curve, except for the number of workers.
bool belongs(const RunValidation& measured, const Run& predicted) {
  const Run& run = measured.run;
  return run.network == predicted.network && run.batch == predicted.batch &&
         run.dtype == predicted.dtype && schedule_text(run) == schedule_text(predicted) &&
         measured.measured_low.si() > 0;
}

/// The measured speed-up of a run over its run on one rank, with the interval of its time.
SpeedupPoint measured_point(const RunValidation& run) {
  const double speedup = run.run.ranks * (1 + *run.naive_error);
  const double time = run.iteration().measured.si();
  return {run.run.ranks, speedup, speedup * time / run.measured_high.si(),
          speedup * time / run.measured_low.si(), false};
}

SpeedupLine line_of(const std::vector<model::Prediction>& curve, const Validation& validation) {
  const Run& first = curve.front().run;
  SpeedupLine line{fmt::format("{}, batch {}", first.network, first.batch)};
  for (const model::Prediction& each : curve) {
    line.points.push_back({each.run.ranks, each.speedup, each.speedup_low, each.speedup_high,
                           each.bound == "communication"});
  }
  for (const RunValidation& run : validation.runs) {
    if (run.naive_error && belongs(run, first)) line.measured.push_back(measured_point(run));
  }
  return line;
}

}  // namespace

std::optional<Figure> phase_bars(const Validation& validation) {
  std::vector<const RunValidation*> runs;
  for (const RunValidation& run : validation.runs) runs.push_back(&run);
  std::ranges::stable_sort(runs, std::greater{},
                           [](const RunValidation* run) { return std::abs(shown_error(*run)); });
  StackedBars figure{"phases",
                     "Medians over trainings, which err less than single ones; phases need not add up; the "
                     "largest errors first",
                     "time of an iteration, ms (lower is better)",
                     "intervals (90 % predicted, 95 % measured)",
                     {},
                     most_drawn};
  figure.counted = "configurations";
  figure.bars_each = 2;
  for (const RunValidation* run : runs) append_run(figure.bars, *run);
  return stacked_bars(figure);
}

std::optional<Figure> scaling(std::span<const std::vector<model::Prediction>> curves,
                              const Validation& validation) {
  std::vector<SpeedupLine> lines;
  for (const std::vector<model::Prediction>& curve : curves) {
    if (curve.size() > 1) lines.push_back(line_of(curve, validation));
  }
  return speedup_lines(lines);
}

}  // namespace dlscale::report::figure
