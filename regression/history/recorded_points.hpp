#pragma once
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "regression/history/point.hpp"
#include "regression/history/store.hpp"

namespace dlscale::regression::history {

/// Whether a series has a point for the first time, again, or of a run that was not recorded.
enum class Taken { first, again, of_no_run };

/// The points of recorded runs, as the series of a history are read one after the other.
class RecordedPoints {
 public:
  explicit RecordedPoints(std::span<const RunRecord> records);
  void begin_series();
  /// Takes a point of the series that was begun. Merged branches may have a point twice.
  [[nodiscard]] Taken take(const Point& point);
  /// Number of recorded points that were not taken.
  [[nodiscard]] std::size_t lost() const;

 private:
  [[nodiscard]] bool is_first(std::size_t run, int part);

  std::unordered_map<std::string, std::size_t> places_;  ///< by Point::run
  std::vector<std::size_t> left_;                        ///< points of each run
  std::vector<std::size_t> series_of_part_0_;            ///< the last that had it, for each run
  std::size_t series_ = 0;                               ///< counts from 1
  std::set<std::pair<std::size_t, int>> other_parts_;    ///< of the present series
};

}  // namespace dlscale::regression::history
