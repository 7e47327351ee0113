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
  std::string series;    ///< "t_f"
  std::string word;      ///< "forward"
  double before = 0;     ///< s
  double after = 0;      ///< s
  double share = 0;      ///< (after - before) / iteration before: parts of an iteration add up
  double share_low = 0;  ///< 95 % interval
  double share_high = 0;
};

/// What the model says of a part of the machine that was measured by itself: the change of the
/// predicted iteration if it alone were as in the new machine.
struct PredictedCause {
  std::string part;   ///< "kernels", "messages", …
  double share = 0;   ///< of the iteration that the base machine predicts
  std::string moved;  ///< which of its measurements moved most, "conv3 backward_data +8.1 %"
};
struct PredictedChange {
  double change = 0;  ///< of the predicted iteration, base to new machine
  std::vector<PredictedCause> causes;
  /// What the causes do together beyond what each does alone; with it they add up to `change`.
  double together = 0;
};

/// Where the change of an iteration comes from. All figures are means over the middle half of the
/// iterations of each launch, by their time, and over launches: unlike medians, those of parts add
/// up to that of the whole, and stragglers do not count. Phases are those of the rank that each
/// iteration waited for (report/validation/measured_runs.hpp); what no phase names is in t_other.
struct Attribution {
  std::string key;  ///< of the measurements, without `repeat`
  std::map<std::string, std::string> axes;
  double before = 0;  ///< iteration, s
  double after = 0;
  double change = 0;      ///< after / before - 1
  double change_low = 0;  ///< 95 % interval; a bootstrap that draws launches, and in each blocks of
  double change_high = 0;             ///< successive iterations. One launch a side: too narrow
  std::vector<AttributedPart> parts;  ///< in the order of an iteration; shares add up to `change`
  int launches = 0;                   ///< of the side with fewer
  std::optional<PredictedChange> predicted = {};
};

/// Of each training ("e2e") whose phases were timed in both, by its key. Deterministic.
std::vector<Attribution> attribute(std::span<const ResultFile> base,
                                   std::span<const ResultFile> changed);

/// "iteration +4.1 %: +3.9 % exposed communication, +0.2 % other": parts of a tenth of the change
/// or more, the largest first, and all others as one.
std::string attribution_sentence(const Attribution& attribution);

/// What the model makes of two machines that were fitted before and after: each family of
/// measurements (kernels, messages, copies, updates, loaders) of `changed` put into `base` alone,
/// and the data sheets of its cluster.
/// Throws ConfigError as predict() does.
PredictedChange predict_change(const Network& network, const model::Machine& base,
                               const model::Machine& changed, const Run& run);

/// Adds predict_change() to each attribution whose run is among the results and whose network can
/// be read.
void add_predictions(std::vector<Attribution>& attributions, std::span<const ResultFile> results,
                     const model::Machine& base, const model::Machine& changed);

}  // namespace dlscale::report
