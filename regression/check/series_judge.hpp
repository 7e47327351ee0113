#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "regression/check/check.hpp"

namespace dlscale::regression::history {

/// The annotations of a history, by commit.
class Annotations {
 public:
  /// `all` is sorted by time, latest last, as Store::annotations() returns it.
  explicit Annotations(std::span<const Annotation> all);
  /// The latest annotation of the alert of a commit that has this series; nullptr if none has.
  [[nodiscard]] const Annotation* of(const std::string& commit, const std::string& series) const;
  /// The place of the nearest commit, at most `near` places from `place`, with an annotation of
  /// this series; `place` if there is none. A change point may move by a place or two when points
  /// are added.
  [[nodiscard]] std::size_t settle(std::span<const CommitPoint> commits, std::size_t place,
                                   const std::string& series, std::size_t near = 2) const;
  /// The first commits of the epochs of a series: 0, and the places of its expected changes.
  [[nodiscard]] std::vector<std::size_t> epochs(std::span<const CommitPoint> commits,
                                                const std::string& series) const;

 private:
  std::map<std::pair<std::string, std::string>, Annotation> last_;  ///< by commit and series
};

/// A change of one series that belongs in an alert.
struct Change {
  std::string commit;
  std::string before;  ///< last commit before those that may be the first at the new level
  std::string latest;  ///< last commit that may be
  std::int64_t time = 0;
  std::int64_t found = 0;           ///< time of the commit at which it was found
  std::vector<std::string> likely;  ///< commits that may be the first at the new level
  bool upward = true;
  AlertMetric metric;
};

struct Judgement {
  SeriesCheck check;
  std::vector<Change> changes;
};

/// Levels of one epoch of a series.
ChangePoints levels_of(std::span<const CommitPoint> commits, const ChangePointRule& rule);

/// Judges one series by itself. Requires at least one commit, in the order of by_commit().
Judgement judge_series(const SeriesKey& key, std::span<const CommitPoint> commits,
                       const Annotations& annotations, const CheckRules& rules);

}  // namespace dlscale::regression::history
