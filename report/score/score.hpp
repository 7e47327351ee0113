#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/score/judged_case.hpp"

namespace dlscale::report {

/// How good predictions are over a group of measured numbers; errors are relative, a missing
/// prediction counts as −100 % and as not covered. Quantiles are the smallest value at which the
/// weight up to it reaches the fraction; the median of equal weights is the mean of the middle two.
struct Score {
  std::size_t items = 0;             ///< measured numbers
  std::size_t missing = 0;           ///< of them: without a prediction
  double mean = 0;                   ///< of the absolute error
  double median = 0;                 ///< of the absolute error
  double bias = 0;                   ///< mean of the error with its sign
  double p90 = 0;                    ///< 90 % quantile of the absolute error
  double max = 0;                    ///< of the absolute error
  double coverage = 0;               ///< weight of the numbers in their interval
  std::optional<double> width = {};  ///< median of (high − low) / predicted; none without intervals
  /// Rank correlation (Spearman) of measured and predicted; none of fewer than 3, or where all of
  /// either are equal.
  std::optional<double> rank_correlation = {};
};

/// By group, and over all with equal weight for each group; the overall rank correlation is the
/// mean of the groups'.
struct GroupedScore {
  std::map<std::string, Score> groups = {};
  Score overall = {};
};

/// Requires at least one case.
GroupedScore score(std::span<const JudgedCase> cases);

}  // namespace dlscale::report
