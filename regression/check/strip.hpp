#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regression/check/check.hpp"
#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"
#include "regression/levels/change_points.hpp"

namespace dlscale::regression::history {

/// Kinds of marks in a strip, besides its points.
enum class MarkKind {
  alert,        ///< an alert that check() raised for this series, with its state
  annotation,   ///< an annotation of a change that is no longer raised
  environment,  ///< another driver, library, compiler, … from here on: levels end here
  machine,      ///< another host or kernel of the same class from here on
};

struct StripMark {
  std::size_t at = 0;  ///< index of the first commit that it applies to
  MarkKind kind = MarkKind::alert;
  std::string text;  ///< "regressed +9.9 % (acknowledged: bug 12)", "oneDNN: 2.6 → 3.0"
  std::optional<Verdict> movement = {};  ///< of an alert
};

/// The values of one question over the commits, as drawn. Where the environment changed, one series
/// ends and another begins; a strip shows them one after the other.
struct Strip {
  SeriesKey key;                     ///< key of the last series
  std::vector<std::string> series;   ///< ids of the series
  std::vector<CommitPoint> commits;  ///< commits of all series, oldest first
  /// Levels and changes, found separately in each series and epoch; indices refer to `commits`. The
  /// shape is that of the last epoch.
  ChangePoints found;
  /// Latest commits that are each worse than the last level by more than the margin: 3 or more, or
  /// 0. The level counts them in, so they are no change yet.
  std::size_t latest_worse = 0;
  std::vector<StripMark> marks;  ///< in the order of the commits
  /// Sentences that name facts which changed too often to be marked.
  std::vector<std::string> remarks;
};

/// Strips of at most `most` questions of those that were checked. Order: series with alerts
/// (largest change first), series that need reruns, bimodal series, then all others in the order
/// checked. Series that only explain another metric come last.
std::vector<Strip> make_strips(Store& store, const CheckReport& report, const CheckRules& rules,
                               std::size_t most);

/// Ids of the checked series, in that order.
std::vector<std::string> by_interest(const CheckReport& report);

}  // namespace dlscale::regression::history
