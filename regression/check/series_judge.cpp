#include "regression/check/series_judge.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/error.hpp"

namespace dlscale::regression::history {
namespace {

/// Number of commits before the newest that may belong to the same change. With one more, a change
/// point covers them.
constexpr std::size_t most_before_newest = 4;

Verdict movement_of(Direction direction, double ratio) {
  if (direction == Direction::steady) return Verdict::shifted;
  const bool worse = worse_sign(direction) * std::log(ratio) > 0;
  return worse ? Verdict::regressed : Verdict::improved;
}

std::vector<double> values_of(std::span<const CommitPoint> commits) {
  std::vector<double> values;
  values.reserve(commits.size());
  for (const CommitPoint& commit : commits) values.push_back(commit.value);
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
        rules_(rules),
        start_(annotations.epoch(commits, id_)) {}

  [[nodiscard]] Judgement judge() {
    describe();
    const std::span<const double> epoch = std::span(values_).subspan(start_);
    const ChangePoints found = find_change_points(epoch, rules_.changes);
    judged_.check.modes = found.modes;
    const std::size_t offset = start_;
    for (const ChangePoint& change : found.changes) {
      if (change.between_modes) continue;
      add(change, offset);
      start_ = std::max(start_, offset + change.after);
    }
    judge_newest();
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

  void add(const ChangePoint& found, std::size_t offset) {
    const std::size_t place = annotations_.settle(commits_, offset + found.after, id_);
    add(place, FoundBy::change_point, found.level_before, found.level_after, found.ratio);
  }

  /// `place` is the first commit at the new level, ≥ 1.
  void add(std::size_t place, FoundBy by, double before, double after, double ratio) {
    const CommitPoint& first = commits_[place];
    const CommitPoint& last = commits_[place == 0 ? 0 : place - 1];
    AlertMetric metric{
        id_,       key_, movement_of(key_.direction, ratio), by, before, after, ratio, last.run,
        first.run, {}};
    judged_.changes.push_back({first.commit, last.commit, first.time, std::move(metric)});
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

  void judge_newest() {
    const std::size_t newest = commits_.size() - 1;
    const std::size_t first = first_beyond(newest);
    std::vector<double> runs;
    for (std::size_t place = first; place <= newest; ++place) {
      runs.insert(runs.end(), commits_[place].runs.begin(), commits_[place].runs.end());
    }
    SeriesCheck& check = judged_.check;
    check.judged = look_at(first, runs);
    check.state = state_of(check.judged);
    if (check.state != SeriesState::moved) return;
    const double after = check.judged.level * check.judged.ratio;
    add(annotations_.settle(commits_, first, id_), FoundBy::newest_commit, check.judged.level,
        after, check.judged.ratio);
  }

  [[nodiscard]] SeriesState state_of(const NewPoint& judged) const {
    if (!judged.verdict) return quiet(SeriesState::new_baseline);
    if (judged.verdict == Verdict::unchanged) return quiet(SeriesState::as_before);
    if (judged.verdict != Verdict::inconclusive) return SeriesState::moved;
    if (judged.runs == 0) return SeriesState::unusable;
    // An unconfirmed speed-up does not justify reruns.
    return movement_of(key_.direction, judged.ratio) == Verdict::improved
               ? quiet(SeriesState::as_before)
               : SeriesState::needs_reruns;
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
  std::size_t start_;  ///< place of the first commit of the level that judges the newest
  Judgement judged_;
};

}  // namespace

Annotations::Annotations(std::span<const Annotation> all) {
  for (const Annotation& annotation : all) last_.insert_or_assign(annotation.commit, annotation);
}

const Annotation* Annotations::of(const std::string& commit) const {
  const auto found = last_.find(commit);
  return found == last_.end() ? nullptr : &found->second;
}

std::size_t Annotations::settle(std::span<const CommitPoint> commits, std::size_t place,
                                const std::string& series, std::size_t near) const {
  const auto is_marked = [&](std::size_t at) {
    const Annotation* found = of(commits[at].commit);
    return found != nullptr && std::ranges::binary_search(found->series, series);
  };
  for (std::size_t distance = 0; distance <= near; ++distance) {
    if (place + distance < commits.size() && is_marked(place + distance)) return place + distance;
    // The first commit of all cannot start a new level.
    if (place > distance && is_marked(place - distance)) return place - distance;
  }
  return place;
}

std::size_t Annotations::epoch(std::span<const CommitPoint> commits,
                               const std::string& series) const {
  for (std::size_t place = commits.size(); !last_.empty() && place-- > 0;) {
    const Annotation* found = of(commits[place].commit);
    if (found != nullptr && found->state == AlertState::expected &&
        std::ranges::binary_search(found->series, series)) {
      return place;
    }
  }
  return 0;
}

Judgement judge_series(const SeriesKey& key, std::span<const CommitPoint> commits,
                       const Annotations& annotations, const CheckRules& rules) {
  EXPECT(!commits.empty());
  return SeriesJudge(key, commits, annotations, rules).judge();
}

}  // namespace dlscale::regression::history
