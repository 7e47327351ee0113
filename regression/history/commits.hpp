#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "regression/history/point.hpp"

namespace dlscale::report::history {

/// Measurements of one commit in one series: one place of the history, however often and however
/// late the commit was measured again.
struct CommitPoint {
  std::string commit;
  std::int64_t time = 0;     ///< s since 1970: the earliest of its runs
  std::vector<double> runs;  ///< medians, in the order they were added
  double value = 0;          ///< their median
  std::string run;           ///< its first run (Point::run)
};

/// The commits of a series in the order of time; commits of equal time stay in the order added.
std::vector<CommitPoint> by_commit(std::span<const Point> points);

}  // namespace dlscale::report::history
