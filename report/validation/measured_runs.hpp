#pragma once
#include <array>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"
#include "core/run/run.hpp"

namespace dlscale::report {

/// All repeats of one training run by one build over the same links, as measured by benchmark
/// "e2e".
struct MeasuredRun {
  std::string key;  ///< key of the measurements, without `repeat`
  std::map<std::string, std::string> axes;
  std::string links;  ///< between hosts, if recorded (model/fits/fit.hpp)
  std::string build;  ///< "build 2" (report/validation/builds.hpp); empty if all are of one
  Run run;
  std::vector<Seconds> t_iter;  ///< median of each repeat
  /// Least end of the 95 % intervals of these medians; `high` is the greatest.
  Seconds low;
  Seconds high;
  /// By phase: median over repeats of the median over iterations, on the rank that each iteration
  /// waited for. That rank waits least for gradients.
  std::map<std::string, Seconds, std::less<>> phases;
  Seconds load;         ///< likewise, for IterationTime::load; 0 if not recorded
  Seconds hidden_comm;  ///< likewise, for IterationTime::hidden_comm
};

struct MeasuredRuns {
  std::vector<MeasuredRun> runs;   ///< by network, batch, ranks and schedule
  std::vector<std::string> notes;  ///< measurements left out, and why
  /// Measurements that were begun and cannot be judged: wrong, interrupted, lost with the end of
  /// their file, or of a network that is no longer known. Each has a note.
  int not_judged = 0;
};

/// Why a measurement cannot be judged, or "". An empty function never objects.
using Objection = std::function<std::string(const ResultFile& file, const Measurement& measured)>;

/// The "e2e" measurements of the results. Leaves out those with a status other than ok or unstable,
/// with an objection, without timed phases, or past the end of a truncated file. Throws ConfigError
/// if an axis or a series is missing or not a number.
MeasuredRuns collect_runs(std::span<const ResultFile> results, const Objection& objection = {});

}  // namespace dlscale::report
