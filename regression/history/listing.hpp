#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"

namespace dlscale::regression::history {

/// Selects series and points.
struct Selection {
  std::function<bool(const SeriesKey&)> wanted;
  /// s since 1970: omits older points, and series without newer ones
  std::optional<std::int64_t> since;
  std::size_t last = 1;  ///< commits of each series, the latest
};

/// Summary of one series.
struct ListedSeries {
  std::string id;
  SeriesKey key;
  std::size_t points = 0;
  std::size_t commits = 0;
  /// Median of the commits since the last change of level, in the metric's unit. Absent if there
  /// are too few commits, or values without a logarithm.
  std::optional<double> level;
  std::vector<CommitPoint> latest;  ///< oldest first
};

/// Sorted by name. Throws Error (nothing_measured) if no series is wanted.
std::vector<ListedSeries> list(Store& store, const Selection& selection);

}  // namespace dlscale::regression::history
