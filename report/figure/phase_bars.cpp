#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>

#include "core/text/numbers.hpp"
#include "report/figure/axis.hpp"
#include "report/figure/canvas.hpp"
#include "report/figure/training_figures.hpp"
#include "report/table/phases.hpp"
#include "report/table/schedule_text.hpp"

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

}  // namespace dlscale::report::figure
