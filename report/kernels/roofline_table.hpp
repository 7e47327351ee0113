#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/step.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What a model of kernels must reach to pass.
struct RooflineLimits {
  double median = 0.10;  ///< of the absolute error, of every algorithm
  double p90 = 0.25;     ///< its 90 % quantile
  double choice = 0.05;  ///< of the time lost by choosing by prediction
};

/// Errors at shapes that were not fitted, by algorithm, beside the naive roofline's; what choosing
/// by prediction loses; and the errors one by one. JSON: {"schema": "dlscale.roofline_validation",
/// "version": 1, …}.
Document roofline_document(const model::KernelJudgement& judgement, const model::LeftOut& left_out,
                           const RooflineLimits& limits);

/// ok: every limit is kept; regression: one is missed; inconclusive: some measured ways had no
/// model, or no shape was measured by two ways.
ExitCode exit_code(const model::KernelJudgement& judgement, const RooflineLimits& limits);

/// The ways to run one step of a network, best first.
struct LayerChoice {
  std::string layer;
  std::string kernel;
  Pass pass = Pass::forward;
  std::vector<model::Candidate> candidates;
  std::vector<model::Way> untold = {};  ///< ways of which no model tells the time
};

/// Where no algorithm fits under the limit though it is known of some what they take: one sentence
/// that names what needs least, and what to do; else empty.
std::string nothing_fits(const std::string& network, int batch, Bytes limit,
                         const std::vector<LayerChoice>& choices);

/// ok; inconclusive: of no pass it is known that an algorithm fits.
ExitCode exit_code(const std::vector<LayerChoice>& choices);

/// The fastest algorithm of every layer that fits, with its interval, and the one after it.
/// JSON: {"schema": "dlscale.choice", "version": 1, …}, with every candidate, best first.
/// Requires candidates for some, and that nothing_fits() has nothing to say.
Document choice_document(const std::string& network, int batch, std::optional<Bytes> limit,
                         const std::vector<LayerChoice>& choices);

}  // namespace dlscale::report
