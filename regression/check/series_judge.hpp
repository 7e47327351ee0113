#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "regression/check/check.hpp"

namespace dlscale::report::history {

/// What the annotations of a history say of commits and series.
class Annotations {
 public:
  /// The latest last, as Store::annotations() has them.
  explicit Annotations(std::span<const Annotation> all);
  /// The latest of an alert; nullptr: there is none.
  [[nodiscard]] const Annotation* of(const std::string& commit) const;
  /// Of which series and a commit at most `near` places from `place` there is one, that commit's
  /// place; else `place`. A change point may move by a place or two when points are added.
  [[nodiscard]] std::size_t settle(std::span<const CommitPoint> commits, std::size_t place,
                                   const std::string& series, std::size_t near = 2) const;
  /// Where the last epoch of a series begins: the place of the last change that is expected; else
  /// 0.
  [[nodiscard]] std::size_t epoch(std::span<const CommitPoint> commits,
                                  const std::string& series) const;

 private:
  std::map<std::string, Annotation> last_;  ///< by commit
};

/// A change of one series that is to go into an alert.
struct Change {
  std::string commit;
  std::string before;
  std::int64_t time = 0;
  AlertMetric metric;
};

struct Judgement {
  SeriesCheck check;
  std::vector<Change> changes;
};

/// Judges one series by itself; `commits` as by_commit() orders them, at least one.
Judgement judge_series(const SeriesKey& key, std::span<const CommitPoint> commits,
                       const Annotations& annotations, const CheckRules& rules);

}  // namespace dlscale::report::history
