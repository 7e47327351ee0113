#pragma once
#include <string>
#include <vector>

#include "app/complete.hpp"
#include "report/history/check.hpp"

namespace dlscale::app {

/// Which alerts a command takes.
enum class AlertsOf {
  now,      ///< those that stand in the history now: what can be bisected
  all_time  ///< and those that were annotated and are raised no more: what can be annotated
};

/// The commits of a history's alerts, the latest first, with the state and the metrics of each.
/// A person waits: after 0.15 s no further series is judged, which are some 60,000 points
/// (results/epyc-2vcpu/2026-11-23-regression), and the alerts found by then are offered. Throws
/// Error where there is no history, or a damaged one.
std::vector<Candidate> alert_candidates(const std::string& store,
                                        const report::history::CheckRules& rules, AlertsOf which);

}  // namespace dlscale::app
