#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "regression/history/alert_state.hpp"
#include "regression/history/commits.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"
#include "regression/statistics/change_points.hpp"
#include "regression/statistics/new_point.hpp"
#include "regression/statistics/verdict.hpp"

namespace dlscale::report::history {

/// The two rules a history is judged by: of the newest commit alone, which tells of a change at
/// once, and of changes of level among the last commits, which is surer and five commits later.
struct CheckRules {
  NewPointRule newest;
  ChangePointRule changes;
};

/// By which rule it was found.
enum class FoundBy { newest_commit, change_point };

/// One metric of an alert.
struct AlertMetric {
  std::string series;  ///< id
  SeriesKey key;
  Verdict movement = Verdict::regressed;  ///< or improved, or shifted where it should be steady
  FoundBy by = FoundBy::change_point;
  double before = 0;  ///< level, in the metric's unit
  double after = 0;
  double ratio = 1;        ///< after / before; not turned by the direction
  std::string run_before;  ///< a run at the old level, and one at the new: SHA-256, 16 digits
  std::string run_after;
  std::string explanation;  ///< where the change comes from, if somebody found out
};

/// What changed between two commits: all metrics that moved there.
struct Alert {
  std::string commit;  ///< the first at the new level; the alert is called by it
  std::string before;  ///< the last at the old one: the range to look at is (before, commit]
  std::int64_t time = 0;
  AlertState state = AlertState::raised;
  std::string note;
  std::vector<AlertMetric> metrics;
  /// Whether it fails the check: it is new, and a metric regressed or shifted that is no detail.
  [[nodiscard]] bool fails() const;
};

/// What is known of one series.
enum class SeriesState {
  new_baseline,  ///< too few commits at this level to judge the newest by
  as_before,
  needs_reruns,  ///< the newest is beyond the bound, and fresh runs of it have to confirm that
  moved,         ///< it is in an alert for its newest commit
  bimodal,       ///< jumps between levels, and the newest commit is at one of them
  ended,         ///< was not measured of the newest commit of its suite at its place (machine and
                 ///< launch), or not at that place for long: not judged by that
  unusable,      ///< the newest is not positive, so that it has no ratio to others
};
inline constexpr std::array series_states{SeriesState::new_baseline, SeriesState::as_before,
                                          SeriesState::needs_reruns, SeriesState::moved,
                                          SeriesState::bimodal,      SeriesState::ended,
                                          SeriesState::unusable};
std::string_view series_state_name(SeriesState state);

struct SeriesCheck {
  std::string id;
  SeriesKey key;
  SeriesState state = SeriesState::new_baseline;
  std::size_t commits = 0;
  std::size_t points = 0;
  CommitPoint newest;
  NewPoint judged;            ///< of the newest, where it was
  std::vector<double> modes;  ///< levels between which it jumps; empty if it does not
  std::string epoch;          ///< an expected change, from which on alone it is judged
};

/// Fresh runs of a commit that have to be made, and of which series.
struct Rerun {
  std::string commit;
  std::size_t runs = 0;
  std::vector<std::string> series;  ///< names
};

/// A series ended and one of the same question in another environment began.
struct EnvironmentChange {
  std::string commit;  ///< the first in the new one
  std::int64_t time = 0;
  std::string what;        ///< "NCCL: 2.18.3 → 2.19.3"
  std::size_t series = 0;  ///< how many have a new baseline from there on
};

struct CheckReport {
  std::string store;
  std::vector<SeriesCheck> series;
  std::vector<Alert> alerts;  ///< the latest first
  std::vector<Rerun> reruns;
  std::vector<EnvironmentChange> environments;  ///< the latest first
  std::size_t points = 0;
  std::size_t incomplete = 0;  ///< points of runs that were not added whole
  std::size_t lost = 0;        ///< as of Reading
  /// Why alerts lack an explanation, of files of runs that the history holds no more.
  std::vector<std::string> unexplained;
};

/// Judges the series that are `wanted`. The newest commit is judged by the runs of it and of the
/// commits just before it that are beyond the bound as well: a change that later commits show, too,
/// is one alert, at the first of them. The newest is that of a suite on a class of machines with a
/// launch, as long as the suite has not gone on elsewhere for `rules.newest.least` commits. Throws
/// Error (nothing_measured) if none is wanted.
CheckReport check(Store& store, const std::function<bool(const SeriesKey&)>& wanted,
                  const CheckRules& rules = {});

/// regression if an alert fails; else inconclusive if reruns are wanted; else ok.
ExitCode exit_code(const CheckReport& report);

/// The alert of a commit, whose name may be cut short. Throws ConfigError if there is none, or more
/// than one.
const Alert& find_alert(const CheckReport& report, std::string_view commit);

}  // namespace dlscale::report::history
