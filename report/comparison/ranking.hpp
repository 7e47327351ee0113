#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "report/comparison/side_by_side.hpp"

namespace dlscale::report {

/// A ranked column, by the rows that all ranked columns have.
struct Standing {
  std::string column;      ///< without a source that all columns share
  bool predicted = false;  ///< its times are predictions
  /// Its time over that of the fastest column: geometric mean over rows, by ratio_of_medians() of
  /// launches where both were measured by several.
  double ratio = 1;
  /// Interval of the ratio. Those of measured columns hold together. Those of predictions are as if
  /// all rows missed to one side, since predictions of one machine share errors. Absent without
  /// intervals, of a column whose times rest on one launch, and of the fastest.
  std::optional<double> low = {};
  std::optional<double> high = {};
  bool ties = false;        ///< the interval of the ratio includes 1; true of the fastest
  double least = 1;         ///< the least ratio of a row
  double most = 1;          ///< the greatest of them
  std::size_t fastest = 0;  ///< rows at which no ranked column takes less
  std::size_t faster = 0;   ///< rows at which it takes less than the column that leads the ranking
};

/// A column that shares too few rows with the others.
struct Unranked {
  std::string column;
  std::size_t rows = 0;    ///< rows that it has
  std::size_t shared = 0;  ///< rows among them that the ranked columns were compared by
};

/// Columns by speed. Two columns are only comparable by rows that both have, since one of them may
/// lack the slow ones. Where trainings were timed, only they count, and not their parts.
struct Ranking {
  std::vector<Standing> ranked;    ///< the fastest first, at least two; empty without a row
  std::vector<Unranked> unranked;  ///< in their order
  std::size_t compared = 0;        ///< rows that all ranked columns have
  std::size_t rows = 0;            ///< all rows that could count
  bool of_trainings = false;
  bool of_single_launches = false;  ///< a measured column rests on one launch
};

/// Begins with the column of most rows, adds the one that keeps most of them, and so on; ranked are
/// those of the step with most times (columns × rows).
Ranking ranking_of(const SideBySide& all);

/// Whether the intervals of all ranked columns tell one of them from the others as the fastest.
bool knows_fastest(const Ranking& ranking);

/// "95 % interval" of measured columns, "90 % interval" of predicted ones, "interval" of both.
std::string interval_name(const Ranking& ranking);

/// Whether a column's ratio has an interval.
bool has_intervals(const Ranking& ranking);

/// The fastest column, by how much, and over how many rows; no winner where the interval of a ratio
/// includes 1, or a column has none. Requires ranked columns.
std::string ranking_verdict(const Ranking& ranking);

}  // namespace dlscale::report
