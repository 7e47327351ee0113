#include "regression/check/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "core/text/escape_for_terminal.hpp"
#include "regression/check/series_judge.hpp"

namespace dlscale::regression::history {
namespace {

/// One environment in which a question was measured.
struct Asked {
  std::int64_t first = 0;
  std::string commit;
  Facts environment;
};

/// Groups changes into alerts. A change joins the alert of a commit that may be its own as well,
/// in the order in which they were found, so that later changes move no alert. An annotation has
/// the series that people have looked at; other series of its commit are an alert of their own.
class Collector {
 public:
  explicit Collector(const Annotations& annotations) : annotations_(annotations) {}

  void add(Change change) { changes_.push_back(std::move(change)); }

  /// The alerts, latest first. Details explain a judged metric and do not make an alert alone.
  [[nodiscard]] std::vector<Alert> alerts() {
    std::ranges::stable_sort(changes_, {}, [](const Change& change) {
      return std::tuple(change.metric.key.is_detail(), change.found, change.likely.size(),
                        change.time);
    });
    for (Change& change : changes_) place(change);
    std::vector<Alert> all;
    for (auto& [home, alert] : alerts_) {
      const auto is_detail = [](const AlertMetric& metric) { return metric.key.is_detail(); };
      if (!std::ranges::all_of(alert.metrics, is_detail)) all.push_back(std::move(alert));
    }
    std::ranges::stable_sort(all, std::ranges::greater{}, &Alert::time);
    return all;
  }

 private:
  void place(Change& change) {
    Alert& alert = alerts_[home_of(change)];
    if (alert.metrics.empty()) {
      const Annotation* annotation = annotations_.of(change.commit, change.metric.series);
      alert.commit = change.commit;
      alert.before = change.before;
      alert.latest = change.latest;
      alert.time = change.time;
      if (annotation != nullptr) {
        alert.state = annotation->state;
        alert.note = annotation->note;
      }
    }
    alert.metrics.push_back(std::move(change.metric));
  }
  /// The commit of an alert, and the state that its series are in.
  using Home = std::pair<std::string, AlertState>;

  [[nodiscard]] Home home_of(const Change& change) const {
    if (const std::optional<Home> own = alert_at(change.commit, change)) return *own;
    for (const std::string& commit : change.likely) {
      const std::optional<Home> found = alert_at(commit, change);
      const auto is_its = [&](const AlertMetric& metric) {
        return metric.series == change.metric.series;
      };
      // A series has two changes between these commits, so they are not one.
      if (!found || std::ranges::any_of(alerts_.at(*found).metrics, is_its)) continue;
      return *found;
    }
    return {change.commit, state_at(change.commit, change)};
  }
  [[nodiscard]] AlertState state_at(const std::string& commit, const Change& change) const {
    const Annotation* annotation = annotations_.of(commit, change.metric.series);
    return annotation == nullptr ? AlertState::raised : annotation->state;
  }
  /// The alert of a commit in the state of the change's series. A detail explains any.
  [[nodiscard]] std::optional<Home> alert_at(const std::string& commit,
                                             const Change& change) const {
    const Home own{commit, state_at(commit, change)};
    if (alerts_.contains(own)) return own;
    const auto first = alerts_.lower_bound({commit, AlertState::raised});
    const bool is_there = first != alerts_.end() && first->first.first == commit;
    if (!is_there || !change.metric.key.is_detail()) return std::nullopt;
    return first->first;
  }

  const Annotations& annotations_;
  std::vector<Change> changes_;
  std::map<Home, Alert> alerts_;
};

/// Counts the commits of a series whose order is not sure.
void add_doubts(std::span<const CommitPoint> commits, OrderDoubts& most) {
  OrderDoubts doubts;
  for (std::size_t i = 0; i < commits.size(); ++i) {
    doubts.by_time += commits[i].ancestors == 0 ? 1 : 0;
    if (i == 0) continue;
    const CommitPoint& before = commits[i - 1];
    const bool is_known = commits[i].ancestors > 0 && before.ancestors > 0;
    doubts.by_name += !is_known && commits[i].time == before.time ? 1 : 0;
    doubts.branched += is_known && commits[i].ancestors == before.ancestors ? 1 : 0;
  }
  if (doubts.by_time == commits.size()) doubts.by_time = 0;
  most.by_name = std::max(most.by_name, doubts.by_name);
  most.by_time = std::max(most.by_time, doubts.by_time);
  most.branched = std::max(most.branched, doubts.branched);
}

/// Where a suite is measured. One machine or number of ranks may reach a commit later than others;
/// until then its last findings stand.
using Place = std::tuple<std::string, Facts, Facts>;

Place place_of(const SeriesKey& key) {
  return {key.suite, key.machine, key.launch};
}

/// The newest commit of the series of a place: by ancestry if it is known of all their commits,
/// else by time.
class NewestCommit {
 public:
  void add(std::span<const CommitPoint> commits) {
    if (order_of(commits) == CommitOrder::time) order_ = CommitOrder::time;
    keep(commits.back(), CommitOrder::ancestry, by_ancestry_);
    keep(commits.back(), CommitOrder::time, by_time_);
  }
  [[nodiscard]] const std::string& name() const {
    return (order_ == CommitOrder::ancestry ? by_ancestry_ : by_time_).commit;
  }

 private:
  static void keep(const CommitPoint& commit, CommitOrder order, CommitPoint& newest) {
    if (newest.commit.empty() || is_later(commit, newest, order)) newest = commit;
  }

  CommitOrder order_ = CommitOrder::ancestry;
  CommitPoint by_ancestry_;
  CommitPoint by_time_;
};

/// The latest commits at which a suite was measured anywhere, by time.
class LatestCommits {
 public:
  void add(std::span<const CommitPoint> commits, std::size_t most) {
    for (const CommitPoint& commit : commits.last(std::min(most, commits.size()))) {
      const auto [found, fresh] = times_.try_emplace(commit.commit, commit.time);
      if (!fresh) found->second = std::min(found->second, commit.time);
    }
  }
  /// Time of the earliest of the last `count` commits; empty if there are fewer.
  [[nodiscard]] std::optional<std::int64_t> start_of_last(std::size_t count) const {
    if (times_.size() < count) return std::nullopt;
    std::vector<std::int64_t> times;
    for (const auto& [commit, time] : times_) times.push_back(time);
    std::ranges::sort(times, std::ranges::greater{});
    return times[count - 1];
  }

 private:
  std::map<std::string, std::int64_t> times_;  ///< by commit
};

class Checker {
 public:
  Checker(Store& store, const CheckRules& rules)
      : store_(store), rules_(rules), marked_(store.annotations()), annotations_(marked_) {}

  [[nodiscard]] CheckReport run(const std::function<bool(const SeriesKey&)>& wanted) {
    report_.store = store_.name();
    const Reading all =
        store_.each_series(wanted, [this](Series&& series) { judge(std::move(series)); });
    report_.lost = all.lost;
    report_.ambiguous = all.ambiguous;
    if (judgements_.empty()) {
      if (report_.incomplete > 0) throw none_whole(store_.name(), report_.incomplete);
      throw Error(ExitCode::nothing_measured,
                  fmt::format("no series of {} is looked for (there are {}), so nothing was "
                              "checked. List the history to see its series.",
                              store_.name(), all.series));
    }
    Collector collector(annotations_);
    for (Judgement& judgement : judgements_) take(judgement, collector);
    report_.alerts = collector.alerts();
    report_.environments = environment_changes();
    return std::move(report_);
  }

 private:
  void judge(Series&& series) {
    report_.incomplete += series.incomplete;
    report_.points += series.points.size();
    if (series.points.empty()) return;
    const std::vector<CommitPoint> commits = by_commit(std::move(series.points));
    judgements_.push_back(judge_series(series.key, commits, annotations_, rules_));
    newest_[place_of(series.key)].add(commits);
    add_doubts(commits, report_.order);
    latest_[series.key.suite].add(commits, rules_.newest.least);
    asked_[series.key.question()].push_back(
        {commits.front().time, commits.front().commit, series.key.environment});
  }

  void take(Judgement& judgement, Collector& collector) {
    SeriesCheck& check = judgement.check;
    const bool is_newest =
        check.newest.commit == newest_.at(place_of(check.key)).name() && !is_given_up(check);
    for (Change& change : judgement.changes) collector.add(std::move(change));
    const bool open =
        check.state == SeriesState::needs_reruns || check.state == SeriesState::unusable;
    if (!is_newest && check.state != SeriesState::bimodal) check.state = SeriesState::ended;
    if (is_newest && open && !check.key.is_detail()) ask_again(check);
    report_.series.push_back(std::move(check));
  }

  /// A place counts as abandoned once it has missed as many commits of its suite as a new baseline
  /// needs. It is not asked for reruns.
  [[nodiscard]] bool is_given_up(const SeriesCheck& check) {
    const auto [found, fresh] = gone_before_.try_emplace(check.key.suite);
    if (fresh) found->second = latest_.at(check.key.suite).start_of_last(rules_.newest.least);
    return found->second && check.newest.time < *found->second;
  }

  void ask_again(const SeriesCheck& check) {
    const auto same = [&](const Rerun& rerun) { return rerun.commit == check.newest.commit; };
    auto found = std::ranges::find_if(report_.reruns, same);
    if (found == report_.reruns.end()) {
      found = report_.reruns.insert(found, {check.newest.commit, 0, {}});
    }
    found->runs = std::max(found->runs, check.judged.runs_wanted);
    found->series.push_back(check.key.name());
    found->short_series += check.commits < short_history ? 1 : 0;
  }

  /// The same difference at the same commit is one change, however many series have it.
  [[nodiscard]] std::vector<EnvironmentChange> environment_changes() {
    std::map<std::pair<std::string, std::string>, EnvironmentChange> changes;
    for (auto& [question, environments] : asked_) {
      std::ranges::stable_sort(environments, {}, &Asked::first);
      for (std::size_t i = 1; i < environments.size(); ++i) {
        const Asked& now = environments[i];
        const std::string what = differences(environments[i - 1].environment, now.environment);
        EnvironmentChange& change = changes[{now.commit, what}];
        change = {now.commit, now.first, what, change.series + 1};
      }
    }
    std::vector<EnvironmentChange> all;
    for (auto& [place, change] : changes) all.push_back(std::move(change));
    std::ranges::stable_sort(all, std::ranges::greater{}, &EnvironmentChange::time);
    return all;
  }

  Store& store_;
  const CheckRules& rules_;
  std::vector<Annotation> marked_;
  Annotations annotations_;
  CheckReport report_;
  std::vector<Judgement> judgements_;
  std::map<Place, NewestCommit> newest_;
  std::map<std::string, LatestCommits> latest_;                     ///< by suite
  std::map<std::string, std::optional<std::int64_t>> gone_before_;  ///< by suite
  std::map<std::string, std::vector<Asked>> asked_;                 ///< by question
};

}  // namespace

std::string_view series_state_name(SeriesState state) {
  switch (state) {
    case SeriesState::new_baseline:
      return "new baseline";
    case SeriesState::as_before:
      return "as before";
    case SeriesState::needs_reruns:
      return "needs reruns";
    case SeriesState::moved:
      return "moved";
    case SeriesState::bimodal:
      return "bimodal";
    case SeriesState::ended:
      return "ended";
    case SeriesState::unusable:
      return "unusable";
  }
  return "";
}

bool Alert::fails() const {
  return state == AlertState::raised && std::ranges::any_of(metrics, [](const AlertMetric& metric) {
           return metric.movement != Verdict::improved && !metric.key.is_detail() &&
                  metric.ending == Ending::open;
         });
}

bool Alert::has_ended() const {
  return std::ranges::all_of(metrics, [](const AlertMetric& metric) {
    return metric.ending != Ending::open || metric.key.is_detail();
  });
}

CheckReport check(Store& store, const std::function<bool(const SeriesKey&)>& wanted,
                  const CheckRules& rules) {
  return Checker(store, rules).run(wanted);
}

ExitCode exit_code(const CheckReport& report) {
  if (std::ranges::any_of(report.alerts, &Alert::fails)) return ExitCode::regression;
  return report.reruns.empty() ? ExitCode::ok : ExitCode::inconclusive;
}

const Alert& find_alert(const CheckReport& report, std::string_view commit) {
  std::vector<const Alert*> found;
  std::string known;
  for (const Alert& alert : report.alerts) {
    if (may_mean(commit, alert.commit)) found.push_back(&alert);
    known += (known.empty() ? "" : ", ") + alert.commit;
  }
  const bool is_one = !found.empty() && std::ranges::all_of(found, [&](const Alert* alert) {
    return alert->commit == found.front()->commit;
  });
  if (is_one && !commit.empty()) {
    // The series that nobody has looked at come first.
    return **std::ranges::min_element(found, {}, &Alert::state);
  }
  if (found.empty()) {
    throw ConfigError(
        fmt::format("no alert is called {}. There {}.", escape_for_terminal(commit),
                    known.empty() ? "are none" : "are: " + escape_for_terminal(known)));
  }
  throw ConfigError(fmt::format("{} alerts begin with \"{}\". Write more of the commit.",
                                found.size(), escape_for_terminal(commit)));
}

}  // namespace dlscale::regression::history
