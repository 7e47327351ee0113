#pragma once
#include <map>
#include <string>

#include "core/base/error.hpp"
#include "model/published/memory/leave_out.hpp"
#include "model/published/memory/score.hpp"
#include "report/score/score_report.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Scores of predicted memory by group, and of all cases alike.
struct MemoryScoreReport {
  std::map<std::string, model::memory::MemoryScore> groups = {};
  model::memory::MemoryScore overall = {};
};

/// Predicts a file's cases by fits that have not seen the network that is judged, and scores them.
/// `by` is "set" or "network.name"; throws ConfigError for another field, or if no case has a
/// measurement.
MemoryScoreReport memory_score_report(const model::memory::MemoryCaseFile& file,
                                      const std::string& by);

/// Errors of the peak and of the verdict, by group and overall. JSON: {"schema":
/// "dlscale.memory_score", "version": 1, …}.
Document memory_score_document(const MemoryScoreReport& report, const ScoreLimits& limits);

/// regression if a limit is missed; ok otherwise.
ExitCode exit_code(const MemoryScoreReport& report, const ScoreLimits& limits);

}  // namespace dlscale::report
