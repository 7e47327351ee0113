#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "regression/history/commits.hpp"
#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"

namespace dlscale::report::history {

/// Which series and points to look at.
struct Selection {
  std::function<bool(const SeriesKey&)> wanted;
  std::optional<std::int64_t> since;  ///< s since 1970: no series without, no point before
  std::size_t last = 1;               ///< commits of each series, the latest ones
};

/// A series as it stands.
struct ListedSeries {
  std::string id;
  SeriesKey key;
  std::size_t points = 0;
  std::size_t commits = 0;
  /// Median of the commits since the last change of level, in the metric's unit; absent where there
  /// are too few to tell, or values that have no logarithm.
  std::optional<double> level;
  std::vector<CommitPoint> latest;  ///< the oldest first
};

/// Sorted by name. Throws Error (nothing_measured) if nothing is wanted.
std::vector<ListedSeries> list(Store& store, const Selection& selection);

}  // namespace dlscale::report::history
