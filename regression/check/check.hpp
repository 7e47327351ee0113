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
#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"
#include "regression/levels/change_points.hpp"
#include "regression/statistics/metric.hpp"
#include "regression/statistics/new_point.hpp"

namespace dlscale::regression::history {

/// The rules that judge a history. `changes` finds the changes that become alerts; `newest` says
/// which values of the newest commit are usual, and when it has to be run again.
struct CheckRules {
  NewPointRule newest;
  ChangePointRule changes;
};

/// The commits that show a change.
enum class FoundBy {
  newest_commit,  ///< the first few commits at the new level
  change_point,   ///< the means of more commits
  drift,          ///< a slope, or steps of one
};

/// Why a change asks for nothing any more, though nobody has annotated it.
enum class Ending {
  open,
  went_back,  ///< a later change took the level back
  overtaken,  ///< a later change is expected and begins a new epoch
  jumps,      ///< the series turned out to jump between the levels
  faded,      ///< the new level turned out to be within the margin of the one before
};

/// One metric of an alert.
struct AlertMetric {
  std::string series;  ///< id
  SeriesKey key;
  Verdict movement = Verdict::regressed;  ///< or improved, or shifted where it should be steady
  FoundBy by = FoundBy::change_point;
  double before = 0;  ///< level, in the metric's unit
  double after = 0;
  double ratio = 1;  ///< after / before, whatever the direction
  /// Values of the commits of either level, at most 20 that are evenly spaced; empty of a drift.
  std::vector<double> values_before = {};
  std::vector<double> values_after = {};
  std::string run_before;        ///< a run at the old level: first 16 digits of its SHA-256
  std::string run_after;         ///< likewise, at the new level
  std::string explanation = {};  ///< where the change comes from, if known
  std::string drift_from = {};   ///< last commit before a drift; empty if this is none
  std::string drift_to = {};     ///< latest commit at which the drift was seen to go on
  Ending ending = Ending::open;
  std::string ended_by = {};  ///< commit of the later change; empty if there is none
};

/// All metrics that changed between two commits and are in one state. An alert keeps its commit
/// from the check that raised it on.
struct Alert {
  /// First commit at the new level; names the alert. Series of one commit in other states are
  /// alerts of their own.
  std::string commit;
  std::string before;  ///< last commit at the old level; search the range (before, latest]
  std::string latest;  ///< last commit that may be the first at the new level
  std::int64_t time = 0;
  AlertState state = AlertState::raised;
  std::string note;
  std::vector<AlertMetric> metrics;
  /// Whether the alert fails the check: it is new, and a metric that is not a detail regressed or
  /// shifted and has not ended.
  [[nodiscard]] bool fails() const;
  /// Whether the changes of all metrics that are not details have ended.
  [[nodiscard]] bool has_ended() const;
};

/// State of one series after a check.
enum class SeriesState {
  new_baseline,  ///< too few commits at this level to judge the newest
  as_before,
  needs_reruns,  ///< the newest is beyond the bound; fresh runs have to confirm it
  moved,         ///< in an alert for its newest commit
  bimodal,       ///< jumps between levels, and the newest commit is at one of them
  /// Lacks the newest commit of its suite at its place (machine and launch), or the place is no
  /// longer measured; not judged by that.
  ended,
  unusable,  ///< the newest value is not positive, so it has no ratio to others
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
  NewPoint judged;            ///< judgement of the newest commit, if it was judged
  std::vector<double> modes;  ///< levels between which the series jumps; empty if it does not
  std::string epoch;  ///< commit of the last expected change; only commits from it on are judged
};

/// A commit that needs fresh runs, and the series that need them.
struct Rerun {
  std::string commit;
  std::size_t runs = 0;
  std::vector<std::string> series;  ///< names
  /// Number of these with fewer than `short_history` commits, where three runs have to show a
  /// change.
  std::size_t short_series = 0;
};
inline constexpr std::size_t short_history = 20;

/// A change of environment: one series ended, and another of the same question began.
struct EnvironmentChange {
  std::string commit;  ///< first commit in the new environment
  std::int64_t time = 0;
  std::string what;        ///< "NCCL: 2.18.3 → 2.19.3"
  std::size_t series = 0;  ///< number of series with a new baseline from there on
};

/// Doubts about the order of commits: most commits of a series each.
struct OrderDoubts {
  std::size_t by_name = 0;   ///< the time of another and no known ancestry: names order them
  std::size_t by_time = 0;   ///< no known ancestry among others with one: times order all
  std::size_t branched = 0;  ///< as many ancestors as another: of merged branches
};

struct CheckReport {
  std::string store;
  std::vector<SeriesCheck> series;
  std::vector<Alert> alerts;  ///< latest first
  std::vector<Rerun> reruns;
  std::vector<EnvironmentChange> environments;  ///< latest first
  std::size_t points = 0;
  std::size_t incomplete = 0;  ///< points of runs that were not added completely
  std::size_t lost = 0;        ///< as in Reading
  OrderDoubts order;
  /// Short names that several commits' names begin with; each counts as a commit of its own.
  std::vector<std::string> ambiguous;
  /// Reasons why alerts lack an explanation: the history no longer holds the files of the runs.
  std::vector<std::string> unexplained;
};

/// Judges the series that are `wanted`. The newest commit is judged by its own runs and those of
/// the commits just before it that are beyond the bound as well. A change is one alert, which
/// later commits neither move nor take away. "Newest" is per suite, class of machines and launch,
/// unless the suite has moved on elsewhere for `rules.newest.least` commits. Throws Error
/// (nothing_measured) if no series is wanted.
CheckReport check(Store& store, const std::function<bool(const SeriesKey&)>& wanted,
                  const CheckRules& rules = {});

/// regression if an alert fails; else inconclusive if reruns are needed; else ok.
ExitCode exit_code(const CheckReport& report);

/// The alert of a commit, whose name may be abbreviated; of several in other states the new one.
/// Throws ConfigError if none or several
/// match.
const Alert& find_alert(const CheckReport& report, std::string_view commit);

}  // namespace dlscale::regression::history
