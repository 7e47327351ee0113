#include "regression/check/strip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/statistics.hpp"
#include "regression/check/series_judge.hpp"

namespace dlscale::regression::history {
namespace {

/// Maximum changes of a fact within a strip that are still marked one by one.
constexpr std::size_t most_changes_of_a_fact = 4;
/// Facts of a run that distinguish machines of one class (run_facts()).
constexpr std::array machine_facts_of_runs{"host", "kernel"};

/// One series of a question.
struct Part {
  std::string id;
  SeriesKey key;
  std::vector<CommitPoint> commits;
};

/// Sort key of a series by interest; smaller comes first.
struct Interest {
  bool detail = false;
  int rank = 0;
  double change = 0;  ///< −|ln ratio| of its largest change in an alert
  auto operator<=>(const Interest&) const = default;
};

int rank_of(SeriesState state) {
  constexpr int after_alerts = 2;
  switch (state) {
    case SeriesState::needs_reruns:
    case SeriesState::unusable:
      return after_alerts;
    case SeriesState::bimodal:
      return after_alerts + 1;
    case SeriesState::moved:
    case SeriesState::as_before:
    case SeriesState::new_baseline:
      return after_alerts + 2;
    case SeriesState::ended:
      return after_alerts + 3;
  }
  return after_alerts + 3;
}

void shift(ChangePoints& found, std::size_t by) {
  for (HistorySegment& segment : found.segments) {
    segment.first += by;
    segment.last += by;
  }
  for (ChangePoint& change : found.changes) {
    change.before += by;
    change.after += by;
  }
}

void append(ChangePoints& all, ChangePoints next, std::size_t offset) {
  shift(next, offset);
  all.shape = next.shape;
  all.modes = std::move(next.modes);
  all.autocorrelation = next.autocorrelation;
  all.points += next.points;
  all.unusable += next.unusable;
  all.segments.insert(all.segments.end(), next.segments.begin(), next.segments.end());
  all.changes.insert(all.changes.end(), next.changes.begin(), next.changes.end());
}

class StripMaker {
 public:
  StripMaker(Store& store, const CheckReport& report, const CheckRules& rules)
      : report_(report), rules_(rules), marked_(store.annotations()), annotations_(marked_) {
    for (const RunRecord& run : store.runs()) {
      Facts facts;
      for (const char* name : machine_facts_of_runs) {
        const auto found = run.facts.find(name);
        if (found != run.facts.end()) facts.insert(*found);
      }
      runs_.insert_or_assign(run.id(), std::move(facts));
    }
  }

  void take(Series&& series) {
    if (series.points.empty()) return;
    std::vector<CommitPoint> commits = by_commit(std::move(series.points));
    std::vector<Part>& parts = questions_[series.key.question()];
    parts.push_back({series.key.id(), std::move(series.key), std::move(commits)});
  }

  void order() {
    for (auto& [question, parts] : questions_) {
      std::ranges::stable_sort(parts, {},
                               [](const Part& part) { return part.commits.front().time; });
    }
  }

  /// Empty if an earlier strip already shows the series.
  [[nodiscard]] std::optional<Strip> make(const std::string& id, const std::string& question) {
    const auto found = questions_.find(question);
    if (found == questions_.end() || drawn_.contains(id)) return std::nullopt;
    const std::span<const Part> parts = chain(found->second, id);
    if (parts.empty()) return std::nullopt;
    Strip strip;
    strip.key = parts.back().key;
    for (const Part& part : parts) add(strip, part);
    strip.latest_worse = latest_worse(strip);
    mark_alerts(strip);
    mark_annotations(strip);
    mark_machines(strip);
    std::ranges::stable_sort(strip.marks, {}, &StripMark::at);
    return strip;
  }

 private:
  /// The series and its neighbours in time in other environments, as long as one ended before the
  /// next began. Two series measured side by side do not follow each other.
  [[nodiscard]] static std::span<const Part> chain(const std::vector<Part>& parts,
                                                   const std::string& id) {
    const auto at = std::ranges::find(parts, id, &Part::id);
    if (at == parts.end()) return {};
    const auto follows = [&parts](std::size_t place) {
      return parts[place - 1].commits.back().time <= parts[place].commits.front().time;
    };
    auto first = static_cast<std::size_t>(at - parts.begin());
    std::size_t last = first;
    while (first > 0 && follows(first)) --first;
    while (last + 1 < parts.size() && follows(last + 1)) ++last;
    return std::span(parts).subspan(first, last - first + 1);
  }

  void add(Strip& strip, const Part& part) {
    const std::size_t offset = strip.commits.size();
    if (offset > 0) {
      strip.marks.push_back(
          {offset, MarkKind::environment, differences(environment_, part.key.environment)});
    }
    environment_ = part.key.environment;
    const std::span<const CommitPoint> all = part.commits;
    std::vector<std::size_t> ends = annotations_.epochs(all, part.id);
    ends.push_back(all.size());
    for (std::size_t i = 0; i + 1 < ends.size(); ++i) {
      const auto epoch = all.subspan(ends[i], ends[i + 1] - ends[i]);
      append(strip.found, levels_of(epoch, rules_.changes), offset + ends[i]);
    }
    strip.commits.insert(strip.commits.end(), all.begin(), all.end());
    strip.series.push_back(part.id);
    drawn_.insert(part.id);
  }

  /// Deviation of ln(value) from the level, robust against outliers.
  [[nodiscard]] static double deviation(const Strip& strip, const HistorySegment& level) {
    constexpr double mad_of_normal = 1.4826;
    std::vector<double> distances;
    for (std::size_t at = level.first; at <= level.last; ++at) {
      distances.push_back(std::abs(std::log(strip.commits.at(at).value / level.level)));
    }
    return mad_of_normal * median(distances);
  }

  /// Commits at the end that lie beyond the margin and beyond what one of ten does by chance: three
  /// in a row do so in one of a thousand series.
  [[nodiscard]] std::size_t latest_worse(const Strip& strip) const {
    constexpr std::size_t least = 3;
    constexpr double one_of_ten = 1.2815515655446004;  // quantile of the normal distribution
    const Direction direction = strip.key.direction;
    const bool is_judged = strip.found.shape != HistoryShape::bimodal &&
                           !strip.found.segments.empty() && direction != Direction::steady;
    if (!is_judged) return 0;
    const HistorySegment& level = strip.found.segments.back();
    const double limit = std::max(std::log1p(rules_.changes.newest_margin),
                                  one_of_ten * deviation(strip, level));
    std::size_t count = 0;
    for (std::size_t at = level.last + 1; at > level.first; --at) {
      const double change = std::log(strip.commits.at(at - 1).value / level.level);
      if (!(worse_sign(direction) * change > limit)) break;
      ++count;
    }
    return count < least ? 0 : count;
  }

  [[nodiscard]] static std::optional<std::size_t> place_of(const Strip& strip,
                                                           const std::string& commit) {
    const auto found = std::ranges::find(strip.commits, commit, &CommitPoint::commit);
    if (found == strip.commits.end()) return std::nullopt;
    return static_cast<std::size_t>(found - strip.commits.begin());
  }

  void mark_alerts(Strip& strip) const {
    for (const Alert& alert : report_.alerts) {
      for (const AlertMetric& metric : alert.metrics) {
        if (std::ranges::find(strip.series, metric.series) == strip.series.end()) continue;
        const auto place = place_of(strip, alert.commit);
        if (!place) continue;
        const std::string note = alert.note.empty() ? "" : ": " + alert.note;
        strip.marks.push_back(
            {*place, MarkKind::alert,
             fmt::format("{} {:+.1f} % ({}{})", verdict_name(metric.movement),
                         100 * (metric.ratio - 1), alert_state_name(alert.state), note),
             metric.movement});
      }
    }
  }

  void mark_annotations(Strip& strip) const {
    std::map<std::string, const Annotation*> last;
    for (const Annotation& annotation : marked_) last[annotation.commit] = &annotation;
    for (const auto& [commit, annotation] : last) {
      const auto is_in = [&, annotation = annotation](const std::string& id) {
        return std::ranges::binary_search(annotation->series, id);
      };
      if (std::ranges::none_of(strip.series, is_in)) continue;
      const auto place = place_of(strip, commit);
      const auto is_there = [&place](const StripMark& mark) {
        return mark.kind == MarkKind::alert && mark.at == *place;
      };
      if (!place || std::ranges::any_of(strip.marks, is_there)) continue;
      const std::string note = annotation->note.empty() ? "" : ": " + annotation->note;
      strip.marks.push_back({*place, MarkKind::annotation,
                             fmt::format("{}{}", alert_state_name(annotation->state), note)});
    }
  }

  [[nodiscard]] std::string fact(const CommitPoint& commit, const char* name) const {
    const auto run = runs_.find(commit.run);
    if (run == runs_.end()) return "";
    const auto found = run->second.find(name);
    return found == run->second.end() ? "" : found->second;
  }

  void mark_machines(Strip& strip) const {
    for (const char* name : machine_facts_of_runs) {
      std::vector<StripMark> marks;
      std::string before;
      for (std::size_t i = 0; i < strip.commits.size(); ++i) {
        const std::string now = fact(strip.commits[i], name);
        if (now.empty()) continue;
        if (!before.empty() && now != before) {
          marks.push_back({i, MarkKind::machine, fmt::format("{}: {} → {}", name, before, now)});
        }
        before = now;
      }
      if (marks.size() > most_changes_of_a_fact) {
        strip.remarks.push_back(
            fmt::format("the {} changed {} times, which is not marked", name, marks.size()));
      } else {
        strip.marks.insert(strip.marks.end(), marks.begin(), marks.end());
      }
    }
  }

  const CheckReport& report_;
  const CheckRules& rules_;
  std::vector<Annotation> marked_;
  Annotations annotations_;
  std::map<std::string, Facts> runs_;                   ///< by id
  std::map<std::string, std::vector<Part>> questions_;  ///< by question
  std::set<std::string> drawn_;                         ///< ids
  Facts environment_;                                   ///< environment of the part added last
};

}  // namespace

std::vector<std::string> by_interest(const CheckReport& report) {
  std::map<std::string, Interest> interests;
  for (const SeriesCheck& check : report.series) {
    interests[check.id] = {check.key.is_detail(), rank_of(check.state), 0};
  }
  for (const Alert& alert : report.alerts) {
    for (const AlertMetric& metric : alert.metrics) {
      Interest& interest = interests[metric.series];
      interest.rank = std::min(interest.rank, alert.fails() ? 0 : 1);
      interest.change = std::min(interest.change, -std::abs(std::log(metric.ratio)));
    }
  }
  std::vector<std::string> ids;
  ids.reserve(report.series.size());
  for (const SeriesCheck& check : report.series) ids.push_back(check.id);
  std::ranges::stable_sort(ids, [&](const std::string& a, const std::string& b) {
    return interests.at(a) < interests.at(b);
  });
  return ids;
}

std::vector<Strip> make_strips(Store& store, const CheckReport& report, const CheckRules& rules,
                               std::size_t most) {
  std::map<std::string, std::string> questions;  // by id
  for (const SeriesCheck& check : report.series) questions[check.id] = check.key.question();
  // Takes as many questions as strips; a strip may join several series.
  std::vector<std::string> ids;
  std::set<std::string> wanted;
  for (const std::string& id : by_interest(report)) {
    const std::string& question = questions.at(id);
    if (wanted.size() >= most && !wanted.contains(question)) continue;
    wanted.insert(question);
    ids.push_back(id);
  }
  StripMaker maker(store, report, rules);
  store.each_series([&](const SeriesKey& key) { return wanted.contains(key.question()); },
                    [&](Series&& series) { maker.take(std::move(series)); });
  maker.order();
  std::vector<Strip> strips;
  for (const std::string& id : ids) {
    if (strips.size() >= most) break;
    if (auto strip = maker.make(id, questions.at(id))) strips.push_back(std::move(*strip));
  }
  return strips;
}

}  // namespace dlscale::regression::history
