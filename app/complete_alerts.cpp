#include "app/complete_alerts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "core/error.hpp"
#include "report/history/alert_state.hpp"
#include "report/history/series_key.hpp"
#include "report/history/store.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

namespace history = report::history;

Candidate candidate_of(const history::Alert& alert) {
  const auto metrics = static_cast<long long>(alert.metrics.size());
  return {alert.commit, fmt::format("{}, {}, after {}", alert_state_name(alert.state),
                                    report::counted(metrics, "metric"), alert.before)};
}

/// None where no series could be judged in time.
std::vector<history::Alert> alerts_in_time(history::Store& store,
                                           const history::CheckRules& rules) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::milliseconds patience{150};
  const auto start = Clock::now();
  const auto is_time_left = [&](const history::SeriesKey&) {
    return Clock::now() - start < patience;
  };
  try {
    return history::check(store, is_time_left, rules).alerts;
  } catch (const Error& error) {
    if (error.code() != ExitCode::nothing_measured) throw;
    return {};
  }
}

}  // namespace

std::vector<Candidate> alert_candidates(const std::string& place, const history::CheckRules& rules,
                                        AlertsOf which) {
  history::Store store(place);
  std::vector<Candidate> candidates;
  for (const history::Alert& alert : alerts_in_time(store, rules)) {
    candidates.push_back(candidate_of(alert));
  }
  if (which == AlertsOf::now) return candidates;
  std::vector<history::Annotation> annotations = store.annotations();
  std::ranges::reverse(annotations);  // the last of an alert counts
  for (const history::Annotation& annotation : annotations) {
    const auto known = std::ranges::find(candidates, annotation.commit, &Candidate::word);
    if (known != candidates.end()) continue;
    candidates.push_back({annotation.commit, std::string(alert_state_name(annotation.state))});
  }
  return candidates;
}

}  // namespace dlscale::app
