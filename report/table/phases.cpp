#include "report/table/phases.hpp"

namespace dlscale::report {

std::string_view phase_word(std::string_view series) {
  for (const Phase& phase : iteration_phases) {
    if (phase.series == series) return phase.word;
  }
  return series == "t_iter" ? "iteration" : series;
}

}  // namespace dlscale::report
