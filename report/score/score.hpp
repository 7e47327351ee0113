#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/score/judged_case.hpp"

namespace dlscale::report {

/// Accuracy of predictions over a group of measured numbers. Errors are relative; a missing
/// prediction counts as −100 % and as not covered. A quantile is the smallest value at which the
/// cumulative weight reaches the fraction; the median of equal weights is the mean of the middle
/// two.
struct Score {
  std::size_t items = 0;    ///< measured numbers
  std::size_t missing = 0;  ///< items without a prediction
  double mean = 0;          ///< mean absolute error
  double median = 0;        ///< median absolute error
  double bias = 0;          ///< mean signed error
  double p90 = 0;           ///< 90 % quantile of the absolute error
  double max = 0;           ///< largest absolute error
  double coverage = 0;      ///< weight of the numbers inside their interval
  /// Median of (high − low) / predicted; absent without intervals.
  std::optional<double> width = {};
  /// Spearman's rank correlation of measured and predicted. Absent for fewer than 3 numbers, or if
  /// either side is constant.
  std::optional<double> rank_correlation = {};
};

/// Scores by group, and over all with equal weight for each group. The overall rank correlation is
/// the mean over the groups.
struct GroupedScore {
  std::map<std::string, Score> groups = {};
  Score overall = {};
};

/// Requires at least one case.
GroupedScore score(std::span<const JudgedCase> cases);

}  // namespace dlscale::report
