#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "model/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/figures.hpp"
#include "report/validate.hpp"

namespace dlscale::report {

/// Everything the report tells of.
struct ReportInput {
  Validation validation;
  Limits limits;
  /// Speed-up curves: predictions of one run for ascending numbers of ranks, one for each network.
  std::vector<std::vector<model::Prediction>> curves;
  model::Machine machine;
  std::vector<ResultFile> results;  ///< all files, of "e2e" and of what the machine was fitted to
};

/// One self-contained HTML file: no script, nothing from the network, figures inlined.
std::string html(const ReportInput& input, const Figures& figures);

/// The same in Markdown; figures are links to `Figure::file`.
std::string markdown(const ReportInput& input, const Figures& figures);

}  // namespace dlscale::report
