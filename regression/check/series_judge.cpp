#include "regression/check/series_judge.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::regression::history {
namespace {

/// Number of commits before the newest that may belong to the same change. With one more, a change
/// point covers them.
constexpr std::size_t most_before_newest = 4;

/// Commits before the one at which a drift was found at which other metrics may have shown it.
constexpr std::size_t near_drift = 3;

Verdict movement_of(Direction direction, bool upward) {
  if (direction == Direction::steady) return Verdict::shifted;
  return (worse_sign(direction) > 0) == upward ? Verdict::regressed : Verdict::improved;
}

/// A rate that its text has rounded to 0 is somewhere below the first digit.
double unrounded(const CommitPoint& commit, double value) {
  return value == 0 ? commit.rounding : value;
}

std::vector<double> values_of(std::span<const CommitPoint> commits) {
  std::vector<double> values;
  values.reserve(commits.size());
  for (const CommitPoint& commit : commits) values.push_back(unrounded(commit, commit.value));
  return values;
}

class SeriesJudge {
 public:
  SeriesJudge(const SeriesKey& key, std::span<const CommitPoint> commits,
              const Annotations& annotations, const CheckRules& rules)
      : id_(key.id()),
        key_(key),
        commits_(commits),
        values_(values_of(commits)),
        annotations_(annotations),
        rules_(rules) {}

  [[nodiscard]] Judgement judge() {
    std::vector<std::size_t> starts = annotations_.epochs(commits_, id_);
    for (std::size_t i = 0; i + 1 < starts.size(); ++i) take_past(starts[i], starts[i + 1]);
    start_ = starts.back();
    describe();
    const bool moved = take_epoch();
    judge_newest(moved);
    end_faded();
    return std::move(judged_);
  }

 private:
  void describe() {
    SeriesCheck& check = judged_.check;
    check.id = id_;
    check.key = key_;
    check.commits = commits_.size();
    for (const CommitPoint& commit : commits_) check.points += commit.runs.size();
    check.newest = commits_.back();
    if (start_ > 0) check.epoch = commits_[start_].commit;
  }

  /// The changes before an expected one, which begins a new epoch and overtakes them.
  void take_past(std::size_t first, std::size_t end) {
    const ChangePoints found = levels_of(commits_.subspan(first, end - first), rules_.changes);
    for (const ChangePoint& change : found.changes) {
      AlertMetric* metric = raise(change, found, first);
      if (metric == nullptr || metric->ending != Ending::open) continue;
      metric->ending = Ending::overtaken;
      metric->ended_by = commits_[end].commit;
    }
  }

  /// Returns whether the newest commit shows a change of the latest commits.
  bool take_epoch() {
    const std::size_t first = start_;
    const ChangePoints found = levels_of(commits_.subspan(first), rules_.changes);
    judged_.check.modes = found.modes;
    bool moved = false;
    for (const ChangePoint& change : found.changes) {
      (void)raise(change, found, first);
      if (change.between_modes) continue;
      moved = first + change.found + 1 == commits_.size() && is_of_newest(change);
      if (!moved) start_ = first + change.after;
    }
    return moved;
  }

  /// A change whose level turned out to be within the margin of the one before asks for nothing.
  void end_faded() {
    for (Change& change : judged_.changes) {
      AlertMetric& metric = change.metric;
      const double sign = change.upward ? 1 : -1;
      const bool is_left = sign * std::log(metric.ratio) > std::log1p(rules_.changes.margin);
      if (metric.ending == Ending::open && !is_left) metric.ending = Ending::faded;
    }
  }

  [[nodiscard]] static FoundBy found_by(const ChangePoint& change) {
    if (change.is_drift) return FoundBy::drift;
    return is_of_newest(change) ? FoundBy::newest_commit : FoundBy::change_point;
  }
  [[nodiscard]] static bool is_of_newest(const ChangePoint& change) {
    return change.found - change.after < most_before_newest;
  }

  /// Adds a change to the alert of the drift that it belongs to, or to one of its own; nullptr if
  /// it is none.
  AlertMetric* raise(const ChangePoint& found, const ChangePoints& all, std::size_t offset) {
    const bool follows = std::exchange(raised_, !found.never_raised);
    if (found.never_raised) return nullptr;
    if (!found.goes_on || !follows || is_dealt_with(offset + found.found)) {
      return &add(found, all, offset);
    }
    Change& drift = judged_.changes.back();
    const CommitPoint& last = commits_[offset + found.after];
    drift.latest = last.commit;
    AlertMetric& metric = drift.metric;
    metric.by = FoundBy::drift;
    metric.drift_from = drift.before;
    metric.drift_to = last.commit;
    metric.after = found.level_after;
    metric.ratio = metric.after / metric.before;
    metric.run_after = last.run;
    metric.values_before.clear();
    metric.values_after.clear();
    return &metric;
  }
  /// Whether the last alert had an annotation already when a commit was made. What a known drift
  /// adds later is new.
  [[nodiscard]] bool is_dealt_with(std::size_t place) const {
    const Annotation* known = annotations_.of(judged_.changes.back().commit, id_);
    return known != nullptr && known->state != AlertState::raised &&
           known->time < commits_[place].time;
  }

  AlertMetric& add(const ChangePoint& found, const ChangePoints& all, std::size_t offset) {
    const std::size_t place = annotations_.settle(commits_, offset + found.after, id_);
    const std::size_t earliest = std::min(place, offset + found.earliest);
    const std::size_t latest = std::max(place, offset + found.latest);
    const CommitPoint& first = commits_[place];
    const CommitPoint& last = commits_[earliest == 0 ? 0 : earliest - 1];
    AlertMetric metric{.series = id_,
                       .key = key_,
                       .movement = movement_of(key_.direction, found.upward),
                       .by = found_by(found),
                       .before = found.level_before,
                       .after = found.level_after,
                       .ratio = found.ratio,
                       .run_before = last.run,
                       .run_after = first.run};
    if (found.is_drift) {
      metric.drift_from = last.commit;
      metric.drift_to = commits_[latest].commit;
    } else {
      add_values(found, all, offset, metric);
    }
    if (found.back > 0) {
      metric.ending = Ending::went_back;
      metric.ended_by = commits_[offset + all.changes[found.back].after].commit;
    } else if (found.between_modes) {
      metric.ending = Ending::jumps;
    }
    Change change{first.commit,
                  last.commit,
                  commits_[latest].commit,
                  first.time,
                  commits_[offset + found.found].time,
                  {},
                  found.upward,
                  std::move(metric)};
    // A drift joins no alert of a step somewhere along it.
    const std::size_t nearest = found.is_drift ? std::max(earliest, place - near_drift) : earliest;
    for (std::size_t i = nearest; i <= latest; ++i) change.likely.push_back(commits_[i].commit);
    judged_.changes.push_back(std::move(change));
    return judged_.changes.back().metric;
  }

  /// Evenly spaced values among those on which the levels of a change rest.
  void add_values(const ChangePoint& found, const ChangePoints& all, std::size_t offset,
                  AlertMetric& metric) const {
    constexpr std::size_t most = 20;
    for (const HistorySegment& level : all.segments) {
      const bool is_before = level.first <= found.before && found.before <= level.last;
      const bool is_after = level.first <= found.after && found.after <= level.last;
      if (is_before == is_after) continue;
      const std::size_t length = level.last - level.first + 1;
      const std::size_t count = std::min(most, length);
      std::vector<double>& values = is_before ? metric.values_before : metric.values_after;
      for (std::size_t i = 0; i < count; ++i) {
        values.push_back(values_[offset + level.first + (2 * i + 1) * length / (2 * count)]);
      }
    }
  }

  /// Index of the mode nearest to a value, by ratio; 0 without modes, and for a value without a
  /// ratio.
  [[nodiscard]] std::size_t mode_of(double value) const {
    const std::vector<double>& modes = judged_.check.modes;
    if (modes.empty() || !(value > 0)) return 0;
    const auto distance = [value](double mode) { return std::abs(std::log(value / mode)); };
    return static_cast<std::size_t>(std::ranges::min_element(modes, {}, distance) - modes.begin());
  }
  /// Earlier values at the same mode: if a history jumps, its levels are not noise.
  [[nodiscard]] std::vector<double> history_before(std::size_t place) const {
    const std::size_t mode = mode_of(values_[place]);
    std::vector<double> history;
    for (std::size_t before = start_; before < place; ++before) {
      if (mode_of(values_[before]) == mode) history.push_back(values_[before]);
    }
    return history;
  }
  [[nodiscard]] NewPoint look_at(std::size_t place, std::span<const double> runs) const {
    return judge_new_point(history_before(place), runs, key_.direction, rules_.newest);
  }
  /// Side on which a single commit is beyond the earlier values: +1 above, -1 below, 0 within.
  [[nodiscard]] int side_of(std::size_t place) const {
    const double value = values_[place];
    const NewPoint judged = look_at(place, std::span(&value, 1));
    if (!judged.verdict || judged.runs == 0) return 0;
    if (value > judged.highest) return 1;
    return value < judged.lowest ? -1 : 0;
  }
  /// First of the consecutive commits up to the newest that are beyond on the same side.
  [[nodiscard]] std::size_t first_beyond(std::size_t newest) const {
    std::size_t first = newest;
    const int side = side_of(newest);
    while (side != 0 && first > start_ + 1 && newest - first < most_before_newest &&
           side_of(first - 1) == side) {
      --first;
    }
    return first;
  }

  void judge_newest(bool moved) {
    const std::size_t newest = commits_.size() - 1;
    const std::size_t first = first_beyond(newest);
    std::vector<double> runs;
    for (std::size_t place = first; place <= newest; ++place) {
      for (const double run : commits_[place].runs) {
        runs.push_back(unrounded(commits_[place], run));
      }
    }
    SeriesCheck& check = judged_.check;
    check.judged = look_at(first, runs);
    check.state = moved ? SeriesState::moved : state_of();
  }

  /// The state of a newest commit that no change is found at.
  [[nodiscard]] SeriesState state_of() {
    NewPoint& judged = judged_.check.judged;
    if (!judged.verdict) return quiet(SeriesState::new_baseline);
    if (judged.verdict == Verdict::unchanged) return quiet(SeriesState::as_before);
    if (judged.runs == 0) return SeriesState::unusable;
    if (is_rounding(judged)) return quiet(SeriesState::as_before);
    // An unconfirmed speed-up does not justify reruns.
    if (movement_of(key_.direction, judged.ratio > 1) == Verdict::improved) {
      return quiet(SeriesState::as_before);
    }
    // Runs enough are beyond the bound, and neighbours or spikes might be so as well.
    judged.runs_wanted = std::max<std::size_t>(judged.runs_wanted, 1);
    return SeriesState::needs_reruns;
  }
  /// Whether the digits of the text may be all that the newest commit is beyond the margin by.
  [[nodiscard]] bool is_rounding(const NewPoint& judged) const {
    std::vector<double> of_level;
    for (std::size_t i = start_; i + 1 < commits_.size(); ++i) {
      of_level.push_back(commits_[i].rounding);
    }
    // The level is a median, so a few coarse points in it say nothing.
    const double rounding = commits_.back().rounding + (of_level.empty() ? 0 : median(of_level));
    const double change = std::abs(judged.ratio - 1) * judged.level - rounding;
    return rounding > 0 && change <= rules_.newest.margin * judged.level;
  }
  /// Reports that a history jumps, unless something else happened.
  [[nodiscard]] SeriesState quiet(SeriesState state) const {
    return judged_.check.modes.empty() ? state : SeriesState::bimodal;
  }

  std::string id_;
  const SeriesKey& key_;
  std::span<const CommitPoint> commits_;
  std::vector<double> values_;
  const Annotations& annotations_;
  const CheckRules& rules_;
  bool raised_ = false;    ///< the change before is in an alert
  std::size_t start_ = 0;  ///< place of the first commit of the level that judges the newest
  Judgement judged_;
};

}  // namespace

Annotations::Annotations(std::span<const Annotation> all) {
  for (const Annotation& annotation : all) {
    for (const std::string& series : annotation.series) {
      last_.insert_or_assign({annotation.commit, series}, annotation);
    }
  }
}

const Annotation* Annotations::of(const std::string& commit, const std::string& series) const {
  const auto found = last_.find({commit, series});
  return found == last_.end() ? nullptr : &found->second;
}

std::size_t Annotations::settle(std::span<const CommitPoint> commits, std::size_t place,
                                const std::string& series, std::size_t near) const {
  const auto is_marked = [&](std::size_t at) { return of(commits[at].commit, series) != nullptr; };
  for (std::size_t distance = 0; distance <= near; ++distance) {
    if (place + distance < commits.size() && is_marked(place + distance)) return place + distance;
    // The first commit of all cannot start a new level.
    if (place > distance && is_marked(place - distance)) return place - distance;
  }
  return place;
}

std::vector<std::size_t> Annotations::epochs(std::span<const CommitPoint> commits,
                                             const std::string& series) const {
  std::vector<std::size_t> starts{0};
  for (std::size_t place = 1; !last_.empty() && place < commits.size(); ++place) {
    const Annotation* found = of(commits[place].commit, series);
    if (found != nullptr && found->state == AlertState::expected) starts.push_back(place);
  }
  return starts;
}

ChangePoints levels_of(std::span<const CommitPoint> commits, const ChangePointRule& rule) {
  std::vector<HistoryPoint> points;
  points.reserve(commits.size());
  for (const CommitPoint& commit : commits)
    points.push_back({unrounded(commit, commit.value), commit.runs, commit.rounding});
  return find_change_points(points, rule);
}

Judgement judge_series(const SeriesKey& key, std::span<const CommitPoint> commits,
                       const Annotations& annotations, const CheckRules& rules) {
  EXPECT(!commits.empty());
  return SeriesJudge(key, commits, annotations, rules).judge();
}

}  // namespace dlscale::regression::history
