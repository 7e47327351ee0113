#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/step.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Limits that a model of kernels must meet.
struct RooflineLimits {
  double median = 0.10;  ///< median absolute error, for every algorithm
  double p90 = 0.25;     ///< 90 % quantile of the absolute error
  double choice = 0.05;  ///< fraction of time lost by choosing by prediction
};

/// Errors at shapes that were not fitted, by algorithm, beside those of the naive roofline; the
/// loss from choosing by prediction; and all errors. JSON: {"schema":
/// "dlscale.roofline_validation", "version": 1, …}.
Document roofline_document(const model::KernelJudgement& judgement, const model::LeftOut& left_out,
                           const RooflineLimits& limits);

/// ok if every limit is met; regression if one is missed; inconclusive if a measured algorithm has
/// no model, or if no shape was measured by two algorithms.
ExitCode exit_code(const model::KernelJudgement& judgement, const RooflineLimits& limits);

/// The algorithms for one step of a network, best first.
struct LayerChoice {
  std::string layer;
  std::string kernel;
  Pass pass = Pass::forward;
  std::vector<model::Candidate> candidates;
  std::vector<model::Way> untold = {};  ///< algorithms whose time no model predicts
};

/// If no algorithm fits under the limit, although models predict some: one sentence that names the
/// least requirement and a remedy. Else empty.
std::string nothing_fits(const std::string& network, int batch, Bytes limit,
                         const std::vector<LayerChoice>& choices);

/// ok, or inconclusive if no pass has an algorithm known to fit.
ExitCode exit_code(const std::vector<LayerChoice>& choices);

/// The fastest algorithm of every layer that fits, with its interval, and the runner-up. JSON:
/// {"schema": "dlscale.choice", "version": 1, …}, with every candidate, best first. Requires some
/// candidates, and an empty nothing_fits().
Document choice_document(const std::string& network, int batch, std::optional<Bytes> limit,
                         const std::vector<LayerChoice>& choices);

}  // namespace dlscale::report
