#pragma once
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "regression/check/check.hpp"
#include "regression/check/strip.hpp"
#include "regression/history/series_key.hpp"
#include "regression/history/store.hpp"

namespace dlscale::report {

/// What a page tells of a series of a history: the median that its results have.
struct ReportedValue {
  std::string series;  ///< id
  history::SeriesKey key;
  double value = 0;  ///< in the metric's unit; of several measurements their median
  std::string commit;
  /// Of the same series in the history; nothing: it is not there.
  std::optional<history::SeriesCheck> kept;
  /// How the environment differs from the latest in which the history has the same question
  /// ("oneDNN: 2.6 → 3.0"); empty: it has none, or `kept`.
  std::string differs;
};

/// A history as a page shows it.
struct HistoryView {
  std::string store;  ///< as `--store` of dlscale history takes it
  history::CheckReport report;
  std::vector<history::Strip> strips;
  std::vector<ReportedValue> reported;  ///< in the order of their names; empty: of a history alone
};

/// The series of results: each metric that a history would keep, once.
std::vector<ReportedValue> reported_values(std::span<const ResultFile> results);

/// What a history says of the series that are `wanted` and, where there are any, of those that are
/// reported. Nothing where it has none of the latter; throws Error (nothing_measured) where none is
/// wanted at all.
HistoryView look_at_history(history::Store& store, std::string place,
                            const std::function<bool(const history::SeriesKey&)>& wanted,
                            const history::CheckRules& rules, std::vector<ReportedValue> reported);

}  // namespace dlscale::report
