#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

/// Predictions of one run for ascending numbers of ranks, one curve for each network.
struct SpeedupCurves {
  std::vector<std::vector<model::Prediction>> curves;
  std::vector<std::string> left_out;  ///< sentences on ranks without a prediction, and why
};

/// Curves of each trained network, in the setting of its run with most ranks. Leaves out numbers of
/// ranks that do not fit into the machine's memory.
SpeedupCurves speedup_curves(const Validation& validation, const model::Machine& machine,
                             std::span<const int> ranks);

/// Adds the curve of one run; adds nothing if no number of ranks fits.
void append_curve(SpeedupCurves& all, const Network& network, const model::Machine& machine,
                  const Run& run, std::span<const int> ranks);

}  // namespace dlscale::report
