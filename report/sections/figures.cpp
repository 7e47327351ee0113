#include "report/figure/figures.hpp"

#include <optional>
#include <utility>

#include "report/figure/bus_bandwidth.hpp"
#include "report/figure/kernel_figures.hpp"
#include "report/figure/training_figures.hpp"
#include "report/sections/history_section.hpp"
#include "report/sections/report.hpp"

namespace dlscale::report {

Figures report_figures(const ReportInput& input) {
  Figures figures;
  const auto append = [&figures](std::optional<Figure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  append(figure::step_stack(input.results));
  append(figure::straggler_map(input.results));
  if (input.trained) {
    append(figure::phase_bars(input.validation));
    append(figure::scaling(input.curves, input.validation));
    append(figure::bus_bandwidth(input.results, input.machine.collectives));
  } else {
    append(figure::bus_bandwidth(input.results, {}));
  }
  if (input.kernels) append(figure::roofline(*input.kernels));
  append(figure::latency(input.results));
  if (input.history) append(history_figure(*input.history));
  return figures;
}

std::vector<std::string> figure_files() {
  return {"step_stack.svg", "stragglers.svg", "phases.svg",  "speedup.svg",
          "allreduce.svg",  "roofline.svg",   "latency.svg", "history.svg"};
}

}  // namespace dlscale::report
