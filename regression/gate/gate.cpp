#include "regression/gate/gate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "regression/gate/auto_margin.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "regression/statistics/log_rounding.hpp"

namespace dlscale::regression {
namespace {

/// The minimum of fewer repetitions is not reliable.
constexpr int enough_repetitions = 10;

using Name = std::pair<std::string, std::string>;  ///< key and series
using Values = std::map<Name, RunValue>;

Values values_of(const Round& round, const std::string& arm) {
  Values values;
  for (const RunValue& value : round.runs.at(arm).values) {
    values.emplace(Name(value.key, value.series), value);
  }
  return values;
}

bool ran_first(const Round& round, const std::string& arm, const std::string& other) {
  const auto at = [&round](const std::string& name) {
    return std::ranges::find(round.order, name);
  };
  return at(arm) < at(other);
}

/// The pairs of two arms by metric, and the number of rounds in which each side measured it.
struct Pairs {
  std::map<Name, GateMetric> metrics;
  std::map<Name, int> of_base;
  std::map<Name, int> of_changed;
  std::map<Name, std::string> units;  ///< units of the base's metrics
  /// Metrics whose values are of other statistics in some run, and how: these differ anyway.
  std::map<Name, std::string> unequal;
};

std::string statistic_words(const RunValue& value) {
  return value.statistic == RunStatistic::single
             ? "a single time"
             : fmt::format("the {} of its times", run_statistic_name(value.statistic));
}

void add_pair(const Round& round, const std::string& changed, const RunValue& a, const RunValue& b,
              Pairs& pairs) {
  if (a.statistic != b.statistic) {
    pairs.unequal[{a.key, a.series}] =
        fmt::format("in round {} the base gives {}, and the new version {}", round.number,
                    statistic_words(a), statistic_words(b));
    return;
  }
  GateMetric& metric = pairs.metrics[{a.key, a.series}];
  metric.key = a.key;
  metric.series = a.series;
  metric.unit = a.unit;
  metric.direction = a.direction;
  metric.statistic = a.statistic;
  metric.rounding = std::max({metric.rounding, a.rounding, b.rounding});
  metric.pairs.push_back(
      {.round = round.number,
       .first = ran_first(round, base_arm, changed) ? GateSideName::base : GateSideName::changed,
       .base = a.value,
       .changed = b.value});
  const bool few = std::min(a.samples, b.samples) < enough_repetitions;
  if (few && a.statistic == RunStatistic::minimum) {
    metric.note = fmt::format("only {} repetitions a run (10 or more have a steadier minimum)",
                              std::min(a.samples, b.samples));
  }
}

Pairs pair_up(std::span<const Round> rounds, const std::string& changed) {
  Pairs pairs;
  for (const Round& round : rounds) {
    const Values base = values_of(round, base_arm);
    const Values other = values_of(round, changed);
    for (const auto& [name, value] : base) {
      ++pairs.of_base[name];
      pairs.units[name] = value.unit;
      const auto found = other.find(name);
      if (found != other.end()) add_pair(round, changed, value, found->second, pairs);
    }
    for (const auto& [name, value] : other) ++pairs.of_changed[name];
  }
  return pairs;
}

/// Keeps metrics that all rounds have, and notes where the others are missing. `missing` receives
/// those that the base measured in every round.
void keep_complete(std::size_t rounds, Pairs& pairs, std::vector<std::string>& notes,
                   std::vector<GateMissing>& missing) {
  std::set<Name> all;
  for (const auto& [name, count] : pairs.of_base) all.insert(name);
  for (const auto& [name, count] : pairs.of_changed) all.insert(name);
  for (const Name& name : all) {
    const auto found = pairs.metrics.find(name);
    if (found != pairs.metrics.end() && found->second.pairs.size() == rounds) continue;
    const auto unequal = pairs.unequal.find(name);
    const std::string why =
        unequal != pairs.unequal.end()
            ? unequal->second + "; run both with the same repetitions"
            : fmt::format("of {} rounds the base measured it in {}, the new version in {}", rounds,
                          pairs.of_base[name], pairs.of_changed[name]);
    notes.push_back(fmt::format("{} {} was not compared: {}", name.first, name.second, why));
    if (pairs.of_base[name] == static_cast<int>(rounds)) {
      missing.push_back({.key = name.first, .series = name.second, .unit = pairs.units[name]});
    }
    pairs.metrics.erase(name);
  }
}

std::optional<double> maybe_ratio(const std::optional<double>& bound) {
  if (!bound) return std::nullopt;
  return std::exp(*bound);
}

/// Base and new of these pairs: their middle level, the median of √(base · new), divided by the
/// change of the same pairs. Medians of each side may move against the change, as where levels
/// jump.
void fill_levels(std::span<const GatePair> pairs, GateMetric& metric) {
  std::vector<double> levels;
  levels.reserve(pairs.size());
  for (const GatePair& pair : pairs)
    levels.push_back(std::sqrt(pair.base) * std::sqrt(pair.changed));
  const double level = median(levels);
  const double half = std::sqrt(metric.ratio);
  const bool more_is_worse = metric.direction == Direction::smaller_is_better;
  metric.base = more_is_worse ? level / half : level * half;
  metric.changed = more_is_worse ? level * half : level / half;
}

/// Says to how many digits the values are printed if these hide changes of the margin.
void note_rounding(double margin, GateMetric& metric) {
  const PrintedValue printed{metric.base, metric.rounding};
  if (!(metric.rounding > 0) || smallest_printed_change(printed) <= margin) return;
  metric.note = rounding_words(printed) + (metric.note.empty() ? "" : "; " + metric.note);
}

/// Why a metric is undecided although its interval is on one side of the margin.
std::string_view words_of(GateHold hold) {
  switch (hold) {
    case GateHold::by_family:
      return "beyond the margin, but among so many metrics that may be chance: more rounds";
    case GateHold::by_far_bound:
      return "below the margin, but too noisy to rule out twice the margin: more rounds";
    case GateHold::by_slowness:
      return "below its margin, but slower beyond chance, which a margin of noise does not clear";
    case GateHold::none:
      break;
  }
  return "";
}

void fill(const GateDecision& decision, double margin, GateMetric& metric) {
  metric.ratio = std::exp(decision.estimate.theta);
  // Later rounds may have followed those of the decision.
  fill_levels(std::span(metric.pairs).first(static_cast<std::size_t>(decision.rounds)), metric);
  metric.ratio_low = maybe_ratio(decision.estimate.low);
  metric.ratio_high = maybe_ratio(decision.estimate.high);
  metric.p = decision.estimate.p_worse;
  metric.p_sequential = decision.p_sequential;
  metric.p_adjusted = decision.p_adjusted;
  metric.rounds = decision.rounds;
  metric.method = decision.estimate.method;
  metric.verdict = decision.verdict;
  if (decision.hold != GateHold::none && !decision.decided) metric.note = words_of(decision.hold);
  note_rounding(margin, metric);
}

/// The rule, and the margins that it found so far: they depend on the first rounds alone.
struct Judge {
  const GateRule& rule;
  GateMargins& margins;
};

double margin_of(const Judge& judge, const std::string& arm, const GateMetric& metric,
                 const std::vector<double>& differences, const RoundedDifferences& rounded) {
  const GateRule& rule = judge.rule;
  const auto rounds = static_cast<std::size_t>(rounds_of_noise(rule.looks));
  if (rule.margin_from == GateRule::Margin::given || differences.size() < rounds) {
    return rule.margin;
  }
  const auto [place, is_new] =
      judge.margins.try_emplace(GateMargins::key_type(arm, metric.key, metric.series), 0);
  if (is_new) {
    const auto first = std::span(differences).first(rounds);
    place->second = std::max(rule.margin, auto_margin(first, rule, rounding_above(first, rounded)));
  }
  return place->second;
}

std::vector<GateMetric> judge(Pairs& pairs, const std::string& arm, const Judge& by) {
  std::vector<GateMetric> metrics;
  std::vector<std::vector<double>> differences;
  std::vector<RoundedDifferences> rounded;
  std::vector<double> margins;
  for (auto& [name, metric] : pairs.metrics) {
    differences.push_back(differences_of(metric.pairs, metric.direction));
    rounded.push_back(rounded_differences(metric.pairs, metric.direction, metric.rounding));
    metric.margin = margin_of(by, arm, metric, differences.back(), rounded.back());
    margins.push_back(metric.margin);
    metrics.push_back(std::move(metric));
  }
  const std::vector<GateDecision> decisions = judge_gate(differences, by.rule, margins, rounded);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    fill(decisions[i], by.rule.margin, metrics[i]);
  }
  return metrics;
}

std::string fault_of_ranks(const RunOutcome& run, const std::string& arm, int round, int ranks) {
  if (ranks == 0) return "";
  const auto world = run.machine.find("ranks");
  if (world == run.machine.end()) {
    return fmt::format(
        "the output of {} in round {} has no number of ranks, and {} are required. Leave the "
        "number out, or measure by dlscale, whose results have it",
        arm, round, ranks);
  }
  if (world->second == std::to_string(ranks)) return "";
  return fmt::format(
      "in round {} {} ran on {} ranks, not {}. Start it by its launcher, in an allocation that has "
      "so many (mpirun -np {}, srun --mpi=pmix), and discard these rounds",
      round, arm, world->second, ranks, ranks);
}

/// The reason why the rounds yield no verdict; empty if they do.
std::string fault(std::span<const Round> rounds, int ranks) {
  for (const Round& round : rounds) {
    for (const auto& [arm, run] : round.runs) {
      std::string found = fault_of_ranks(run, arm, round.number, ranks);
      if (!found.empty()) return found;
      found = difference_of_place(round.runs.at(base_arm), run);
      if (!found.empty()) {
        return fmt::format(
            "in round {} the versions ran in different places ({}), so that their times have "
            "nothing in common. Run both on the same machine, and discard these rounds",
            round.number, found);
      }
      if (was_built_anew(rounds.front().runs.at(arm), run)) {
        return fmt::format(
            "the program of {} was built anew before round {} ended, so that the rounds are of two "
            "programs. Discard these rounds",
            arm, round.number);
      }
    }
  }
  return "";
}

/// Makes all metrics inconclusive if the session is invalid; the measured values stay.
void withdraw(const char* why, GateReport& report) {
  for (GateMetric& metric : report.metrics) {
    metric.verdict = Verdict::inconclusive;
    metric.note = why;
  }
}

/// Notes the number of runs with rows that did not settle. Their minima still count, since pairing
/// compensates.
void note_unsettled(std::span<const Round> rounds, GateReport& report) {
  std::map<std::string, int> runs;
  int all = 0;
  for (const Round& round : rounds) {
    for (const auto& [arm, run] : round.runs) {
      ++all;
      const std::set<std::string> keys(run.conditions.unsettled.begin(),
                                       run.conditions.unsettled.end());
      for (const std::string& key : keys) ++runs[key];
    }
  }
  if (runs.empty()) return;
  const auto most = std::ranges::max_element(
      runs, [](const auto& a, const auto& b) { return a.second < b.second; });
  report.notes.push_back(fmt::format(
      "{} did not settle in the time allowed in some run; most often {}, in {} of {} runs",
      counted(static_cast<long long>(runs.size()), "measurement"), most->first, most->second, all));
}

bool is_left_open_by_rounding(const GateMetric& metric, const GateReport& report) {
  return !metric.is_decided() && !report.looks.empty() &&
         metric.rounds >= report.looks.front().rounds &&
         is_hidden_by_rounding(metric, least_margin(report));
}

void note_rounding(GateReport& report) {
  const auto open = std::ranges::count_if(report.metrics, [&report](const GateMetric& metric) {
    return is_left_open_by_rounding(metric, report);
  });
  if (open == 0) return;
  report.notes.push_back(
      fmt::format("the digits printed of {} hide changes of the margin, and more rounds do not "
                  "help: print more "
                  "digits, as Google Benchmark does since version 1.4",
                  counted(open, "metric")));
}

void take_load(std::span<const Round> rounds, GateReport& report) {
  for (const Round& round : rounds) {
    for (const auto& [arm, run] : round.runs) {
      const std::optional<double> load = run.conditions.load;
      if (!load) continue;
      if (!report.load) report.load = {*load, *load};
      report.load = {std::min(report.load->first, *load), std::max(report.load->second, *load)};
    }
  }
}

void judge_canary(std::span<const Round> rounds, const Judge& by, GateReport& report) {
  if (rounds.empty() || !rounds.front().runs.contains(canary_arm)) return;
  Pairs pairs = pair_up(rounds, canary_arm);
  std::vector<std::string> notes;
  std::vector<GateMissing> missing;
  keep_complete(rounds.size(), pairs, notes, missing);
  report.canary_metrics = judge(pairs, canary_arm, by);
  report.canary = GateCanary::quiet;
  for (const GateMetric& metric : report.canary_metrics) {
    if (metric.verdict != Verdict::regressed && metric.verdict != Verdict::improved) {
      continue;
    }
    report.canary = GateCanary::alarmed;
    report.notes.push_back(fmt::format(
        "{} {} of the base differs from itself by {:+.1f} %, so this session tells nothing: the "
        "machine is not steady",
        metric.key, metric.series, (metric.ratio - 1) * 100));
  }
}

/// Notes what a run left out and why; once if it holds for both versions.
void note_without_times(const Round& round, GateReport& report) {
  const std::vector<std::string>& base = round.runs.at(base_arm).without_times;
  const std::vector<std::string>& changed = round.runs.at(changed_arm).without_times;
  for (const std::string& each : changed) report.notes.push_back("not measured: " + each);
  for (const std::string& each : base) {
    if (std::ranges::find(changed, each) == changed.end()) {
      report.notes.push_back("not measured by the base: " + each);
    }
  }
}

void judge_kept(std::span<const Round> rounds, const Judge& by, GateReport& report) {
  if (rounds.empty()) return;
  Pairs pairs = pair_up(rounds, changed_arm);
  keep_complete(rounds.size(), pairs, report.notes, report.missing);
  report.metrics = judge(pairs, changed_arm, by);
  for (const GateMetric& metric : report.metrics) {
    report.margin = std::max(report.margin, metric.margin);
  }
  note_without_times(rounds.back(), report);
  judge_canary(rounds, by, report);
}

/// The first of regressed, inconclusive and improved that any metric has; else not regressed.
Verdict overall_verdict(const GateReport& report) {
  if (!is_trusted(report) || report.metrics.empty()) return Verdict::inconclusive;
  for (const Verdict verdict : {Verdict::regressed, Verdict::inconclusive, Verdict::improved}) {
    if (std::ranges::count(report.metrics, verdict, &GateMetric::verdict) > 0) return verdict;
  }
  return Verdict::not_regressed;
}

/// Withdraws the verdicts of metrics if the session is not reliable.
void judge_session(std::span<const Round> rounds, int ranks, GateReport& report) {
  if (const std::string problem = fault(rounds, ranks); !problem.empty()) {
    report.invalid = true;
    report.notes.insert(report.notes.begin(), problem);
    withdraw("the rounds are not valid", report);
  } else if (report.unsteady) {
    withdraw("the machine was slowed or held back too often", report);
  } else if (report.canary == GateCanary::alarmed) {
    withdraw("the A/A test failed: the base differs from itself", report);
  }
}

}  // namespace

Gate::Gate(GateRule rule, int ranks) : rule_(std::move(rule)), ranks_(ranks) {
  EXPECT(!rule_.looks.empty());
}

void Gate::add(Round round) {
  rounds_.push_back(std::move(round));
  verdict_.reset();
}

const GateReport& Gate::verdict() const {
  if (!verdict_) verdict_ = judged();
  return *verdict_;
}

GateReport Gate::judged() const {
  GateReport report;
  report.margin = rule_.margin;
  report.margin_of_noise = rule_.margin_from == GateRule::Margin::of_noise;
  report.looks = rule_.looks;
  report.q = rule_.q;
  for (const Round& round : rounds_) report.duration += round.seconds;
  if (rounds_.empty()) return report;
  const SteadyRounds steady = steady_rounds(rounds_);
  report.set_aside = static_cast<int>(steady.discarded);
  report.unsteady = steady.is_unsteady();
  report.notes = steady.notes;
  report.rounds = static_cast<int>(steady.kept.size());
  judge_kept(steady.kept, {rule_, margins_}, report);
  note_unsettled(steady.kept, report);
  note_rounding(report);
  take_load(rounds_, report);
  judge_session(rounds_, ranks_, report);
  report.base.environment = rounds_.back().runs.at(base_arm).program;
  report.changed.environment = rounds_.back().runs.at(changed_arm).program;
  report.date = rounds_.back().date;
  report.verdict = overall_verdict(report);
  return report;
}

bool Gate::wants_more() const {
  const GateReport& now = verdict();
  if (!is_trusted(now) || now.rounds >= rule_.looks.back().rounds) return false;
  if (now.metrics.empty()) return now.rounds == 0;
  return !std::ranges::all_of(now.metrics, [&now](const GateMetric& metric) {
    return metric.is_decided() || is_left_open_by_rounding(metric, now);
  });
}

ExitCode exit_code(const GateReport& verdict, const GateExit& exits) {
  // Metrics are also missing if all rounds were discarded.
  const bool has_nothing =
      verdict.metrics.empty() && (verdict.rounds > 0 || verdict.set_aside == 0);
  if (verdict.invalid) return has_nothing ? ExitCode::nothing_measured : ExitCode::wrong_result;
  const bool is_judged = verdict.rounds > 0 && is_trusted(verdict);
  if (is_judged && !verdict.missing.empty() && exits.missing == GateExit::Missing::fails) {
    return ExitCode::regression;
  }
  if (verdict.verdict == Verdict::inconclusive) {
    if (has_nothing) return ExitCode::nothing_measured;
    if (exits.inconclusive == GateExit::Inconclusive::passes) return ExitCode::ok;
  }
  if (verdict.verdict == Verdict::improved && exits.improvement == GateExit::Improvement::fails) {
    return ExitCode::regression;
  }
  return exit_code(verdict.verdict);
}

}  // namespace dlscale::regression
