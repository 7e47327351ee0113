#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "regression/check/check.hpp"
#include "regression/history/commits.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"
#include "regression/statistics/change_points.hpp"

namespace dlscale::report::history {

/// What is told of a place in a strip beside its points.
enum class MarkKind {
  alert,        ///< what check() raised of this series there, and what people have made of it
  annotation,   ///< what people have said of a change that is raised no more
  environment,  ///< from here on another driver, library, compiler, …: levels do not go on
  machine,      ///< from here on another host or kernel of the same class
};
std::string_view mark_kind_name(MarkKind kind);

struct StripMark {
  std::size_t at = 0;  ///< of the first commit that it is true of
  MarkKind kind = MarkKind::alert;
  std::string text;  ///< "regressed +9.9 % (acknowledged: bug 12)", "oneDNN: 2.6 → 3.0"
};

/// One question and what was answered over the commits, as it is drawn. Where the environment
/// changed, a series ends and another begins; a strip shows one after the other.
struct Strip {
  SeriesKey key;                     ///< of the last of its series
  std::vector<std::string> series;   ///< their ids
  std::vector<CommitPoint> commits;  ///< of all of them, the oldest first
  /// Levels and changes, found in each series and epoch by itself; indices are those of `commits`.
  /// The shape is that of the last.
  ChangePoints found;
  std::vector<StripMark> marks;      ///< in the order of the commits
  std::vector<std::string> remarks;  ///< sentences: what changed too often to be marked
};

/// Strips of at most `most` questions of those that were checked: those with alerts first, the
/// largest change on top, then what is to be run again, what is bimodal, and all others as they
/// were checked; what only explains another metric comes last.
std::vector<Strip> make_strips(Store& store, const CheckReport& report, const CheckRules& rules,
                               std::size_t most);

/// The ids of the series checked, in that order.
std::vector<std::string> by_interest(const CheckReport& report);

}  // namespace dlscale::report::history
