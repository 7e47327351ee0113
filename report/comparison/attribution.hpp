#pragma once
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/validation/run_networks.hpp"

namespace dlscale::report {

/// A part of an iteration, before and after a change.
struct AttributedPart {
  std::string series;  ///< "t_f"
  std::string word;    ///< "forward"
  double before = 0;   ///< s
  double after = 0;    ///< s
  /// (after - before) / iteration before; the shares of an iteration's parts add up
  double share = 0;
  double share_low = 0;  ///< 95 % interval
  double share_high = 0;
};

/// Effect of one separately measured part of the machine: the change of the predicted iteration if
/// only that part were as in the new machine.
struct PredictedCause {
  std::string part;   ///< "kernels", "messages", …
  double share = 0;   ///< fraction of the iteration predicted for the base machine
  std::string moved;  ///< its measurement that moved most: "conv3 backward_data +8.1 %"
};
struct PredictedChange {
  double change = 0;  ///< change of the predicted iteration from the base to the new machine
  std::vector<PredictedCause> causes;
  /// Interaction: the effect of all causes together minus their sum; with it, the causes add up to
  /// `change`.
  double together = 0;
};

/// Decomposes the change of an iteration into its parts. All figures are means over launches of the
/// mean of the middle half of their iterations, by time. Unlike medians, those of parts add up to
/// the whole, and stragglers do not count. Phases are those of the rank that each iteration waited
/// for (report/validation/measured_runs.hpp); t_other holds the time that no phase covers.
struct Attribution {
  std::string key;  ///< key of the measurements, without `repeat`
  std::map<std::string, std::string> axes;
  double before = 0;  ///< iteration, s
  double after = 0;
  double change = 0;  ///< after / before - 1
  /// 95 % interval: a bootstrap draws launches, then blocks of successive iterations within each;
  /// too narrow with one launch a side
  double change_low = 0;
  double change_high = 0;             ///< likewise
  std::vector<AttributedPart> parts;  ///< in the order of an iteration; shares add up to `change`
  int launches = 0;                   ///< on the side with fewer launches
  std::optional<PredictedChange> predicted = {};
};

/// One attribution for each training ("e2e") whose phases were timed in both, by key.
/// Deterministic.
std::vector<Attribution> attribute(std::span<const ResultFile> base,
                                   std::span<const ResultFile> changed);

/// "iteration +4.1 %: +3.9 % exposed communication, +0.2 % other": parts of at least a tenth of the
/// change, largest first, and the rest as one.
std::string attribution_sentence(const Attribution& attribution);

/// Predicted change between two fitted machines. Each family of measurements of `changed` (kernels,
/// messages, copies, updates, loaders), and the data sheets of its cluster, replaces that of `base`
/// alone. Throws ConfigError as predict() does.
PredictedChange predict_change(const Network& network, const model::Machine& base,
                               const model::Machine& changed, const Run& run);

/// Adds predict_change() to each attribution whose run is among the results and whose network can
/// be read.
void add_predictions(std::vector<Attribution>& attributions, std::span<const ResultFile> results,
                     const model::Machine& base, const model::Machine& changed);

}  // namespace dlscale::report
