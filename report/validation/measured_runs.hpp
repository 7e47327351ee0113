#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "core/run/run.hpp"

namespace dlscale::report {

/// All repeats of one training run over the same links as benchmark "e2e" measured it.
struct MeasuredRun {
  std::string key;  ///< of the measurements, without `repeat`
  std::map<std::string, std::string> axes;
  std::string links;  ///< between hosts, where it says which (model/fits/links.hpp)
  Run run;
  std::vector<Seconds> t_iter;  ///< median of each repeat
  /// From the least to the greatest end of the 95 % intervals of these medians.
  Seconds low;
  Seconds high;
  /// By phase: median over repeats of the median over iterations, on the rank that the iteration
  /// waited for, which is the one that waited least for gradients itself.
  std::map<std::string, Seconds, std::less<>> phases;
  Seconds load;         ///< likewise, of IterationTime::load; 0 where it was not recorded
  Seconds hidden_comm;  ///< likewise, of IterationTime::hidden_comm
};

struct MeasuredRuns {
  std::vector<MeasuredRun> runs;   ///< by network, batch, ranks and schedule
  std::vector<std::string> notes;  ///< measurements left out, and why
  /// Measurements that were begun and cannot be judged: wrong, interrupted, or lost with the end of
  /// their file, or of a network that is not known any more. A note each.
  int not_judged = 0;
};

/// Why a measurement cannot be judged, or "". An empty function has no objections.
using Objection = std::function<std::string(const ResultFile& file, const Measurement& measured)>;

/// The "e2e" measurements of the results; those with a status other than ok or unstable are left
/// out, as are those that meet an objection, those whose phases were not timed and what came after
/// the end of a file that ends early. Throws ConfigError if an axis or a series is missing or no
/// number.
MeasuredRuns collect_runs(std::span<const ResultFile> results, const Objection& objection = {});

/// The key of a measurement without the axes named; axes that older files lack have the value that
/// was the only one then.
std::string key_without(const Measurement& measurement, std::span<const std::string_view> axes);

}  // namespace dlscale::report
