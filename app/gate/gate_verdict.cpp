#include "app/gate/gate_verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/gate/run_conditions.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::app {
namespace {

using regression::GateMetric;
using regression::GatePair;
using regression::GateReport;
using regression::Verdict;

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
};

void add_pair(const Round& round, const std::string& changed, const RunValue& a, const RunValue& b,
              Pairs& pairs) {
  GateMetric& metric = pairs.metrics[{a.key, a.series}];
  metric.key = a.key;
  metric.series = a.series;
  metric.unit = a.unit;
  metric.direction = a.direction;
  metric.statistic = a.statistic;
  metric.pairs.push_back({.round = round.number,
                          .first = ran_first(round, base_arm, changed)
                                       ? regression::GateSideName::base
                                       : regression::GateSideName::changed,
                          .base = a.value,
                          .changed = b.value});
  const bool few = std::min(a.samples, b.samples) < enough_repetitions;
  if (few && a.statistic == regression::RunStatistic::minimum) {
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
                   std::vector<regression::GateMissing>& missing) {
  std::set<Name> all;
  for (const auto& [name, count] : pairs.of_base) all.insert(name);
  for (const auto& [name, count] : pairs.of_changed) all.insert(name);
  for (const Name& name : all) {
    const auto found = pairs.metrics.find(name);
    if (found != pairs.metrics.end() && found->second.pairs.size() == rounds) continue;
    notes.push_back(
        fmt::format("{} {} was not compared: of {} rounds the base measured it in {}, "
                    "the new version in {}",
                    name.first, name.second, rounds, pairs.of_base[name], pairs.of_changed[name]));
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

void fill(const regression::GateDecision& decision, GateMetric& metric) {
  std::vector<double> base;
  std::vector<double> changed;
  // The change refers to the rounds of the decision, even if later rounds followed.
  const auto rounds = static_cast<std::size_t>(decision.rounds);
  for (const GatePair& pair : std::span(metric.pairs).first(rounds)) {
    base.push_back(pair.base);
    changed.push_back(pair.changed);
  }
  metric.base = median(base);
  metric.changed = median(changed);
  metric.ratio = std::exp(decision.estimate.theta);
  metric.ratio_low = maybe_ratio(decision.estimate.low);
  metric.ratio_high = maybe_ratio(decision.estimate.high);
  metric.p = decision.estimate.p_worse;
  metric.p_sequential = decision.p_sequential;
  metric.p_adjusted = decision.p_adjusted;
  metric.rounds = decision.rounds;
  metric.method = decision.estimate.method;
  metric.verdict = decision.verdict;
  if (decision.held_back && !decision.decided) {
    metric.note = "beyond the margin, but among so many metrics that may be chance: more rounds";
  }
}

std::vector<GateMetric> judge(Pairs& pairs, const regression::GateRule& rule) {
  std::vector<GateMetric> metrics;
  std::vector<std::vector<double>> differences;
  for (auto& [name, metric] : pairs.metrics) {
    differences.push_back(regression::differences_of(metric.pairs, metric.direction));
    metrics.push_back(std::move(metric));
  }
  const std::vector<regression::GateDecision> decisions = regression::judge_gate(differences, rule);
  for (std::size_t i = 0; i < metrics.size(); ++i) fill(decisions[i], metrics[i]);
  return metrics;
}

using Facts = std::map<std::string, std::string>;

/// The first fact that differs, with both values; empty if none does.
std::string difference(const Facts& a, const Facts& b) {
  for (const auto& [name, value] : a) {
    const auto other = b.find(name);
    const std::string theirs = other == b.end() ? "" : other->second;
    if (value != theirs) return fmt::format("{}: \"{}\" and \"{}\"", name, value, theirs);
  }
  return "";
}

/// The first fact that differs between the machines of two runs, file by file if both wrote the
/// same files. Steps of a suite may differ in ranks and cores.
std::string difference(const RunOutcome& a, const RunOutcome& b) {
  bool compared = false;
  for (const auto& [name, facts] : a.files) {
    const auto other = b.files.find(name);
    if (other == b.files.end()) continue;
    compared = true;
    const std::string found = difference(facts.machine, other->second.machine);
    if (!found.empty()) return a.files.size() == 1 ? found : fmt::format("{}, {}", name, found);
  }
  return compared ? "" : difference(a.machine, b.machine);
}

/// Whether some file was written by another program than in an earlier run of the same version.
bool was_built_anew(const RunOutcome& before, const RunOutcome& run) {
  for (const auto& [name, facts] : run.files) {
    const auto other = before.files.find(name);
    if (other != before.files.end() && other->second.build != facts.build) return true;
  }
  const auto build_of = [](const RunOutcome& one) {
    const auto build = one.program.find("build");
    return build == one.program.end() ? "" : build->second;
  };
  return build_of(run) != build_of(before);
}

/// Whether files of one run come from different builds.
bool has_two_builds(const RunOutcome& run) {
  return std::ranges::any_of(run.files, [&run](const auto& file) {
    return file.second.build != run.files.begin()->second.build;
  });
}

std::string fault_of_ranks(const RunOutcome& run, const std::string& arm, int round, int ranks) {
  if (ranks == 0) return "";
  const auto world = run.machine.find("ranks");
  if (world == run.machine.end()) {
    return fmt::format(
        "what {} wrote in round {} tells no number of ranks, which --ranks {} asks for. Leave "
        "that out, or measure by dlscale, whose results tell",
        arm, round, ranks);
  }
  if (world->second == std::to_string(ranks)) return "";
  return fmt::format(
      "in round {} {} ran on {} ranks, not {}. Start it by its launcher, in an allocation that has "
      "so many (mpirun -np {}, srun --mpi=pmix), and discard these rounds (--restart)",
      round, arm, world->second, ranks, ranks);
}

/// The reason why the rounds yield no verdict; empty if they do.
std::string fault(std::span<const Round> rounds, int ranks) {
  for (const Round& round : rounds) {
    for (const auto& [arm, run] : round.runs) {
      std::string found = fault_of_ranks(run, arm, round.number, ranks);
      if (!found.empty()) return found;
      found = difference(round.runs.at(base_arm), run);
      if (!found.empty()) {
        return fmt::format(
            "in round {} the versions ran in different places ({}), so that their times have "
            "nothing in common. Run both on the same machine, and discard these rounds (--restart)",
            round.number, found);
      }
      if (was_built_anew(rounds.front().runs.at(arm), run) || has_two_builds(run)) {
        return fmt::format(
            "the program of {} was built anew before round {} ended, so that the rounds are of two "
            "programs. Start again with --restart",
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
void tell_unsettled(std::span<const Round> rounds, GateReport& report) {
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

void tell_load(std::span<const Round> rounds, GateReport& report) {
  for (const Round& round : rounds) {
    for (const auto& [arm, run] : round.runs) {
      const std::optional<double> load = run.conditions.load;
      if (!load) continue;
      if (!report.load) report.load = {*load, *load};
      report.load = {std::min(report.load->first, *load), std::max(report.load->second, *load)};
    }
  }
}

void judge_canary(std::span<const Round> rounds, const regression::GateRule& rule,
                  GateReport& report) {
  if (rounds.empty() || !rounds.front().runs.contains(canary_arm)) return;
  Pairs pairs = pair_up(rounds, canary_arm);
  std::vector<std::string> notes;
  std::vector<regression::GateMissing> missing;
  keep_complete(rounds.size(), pairs, notes, missing);
  report.canary_metrics = judge(pairs, rule);
  report.canary = regression::GateCanary::quiet;
  for (const GateMetric& metric : report.canary_metrics) {
    if (metric.verdict != Verdict::regressed && metric.verdict != Verdict::improved) {
      continue;
    }
    report.canary = regression::GateCanary::alarmed;
    report.notes.push_back(fmt::format(
        "{} {} of the base differs from itself by {:+.1f} %, so this session tells nothing: the "
        "machine is not steady",
        metric.key, metric.series, (metric.ratio - 1) * 100));
  }
}

void judge_kept(std::span<const Round> rounds, const regression::GateRule& rule,
                GateReport& report) {
  if (rounds.empty()) return;
  Pairs pairs = pair_up(rounds, changed_arm);
  keep_complete(rounds.size(), pairs, report.notes, report.missing);
  report.metrics = judge(pairs, rule);
  for (const std::string& missing : rounds.back().runs.at(changed_arm).without_times) {
    report.notes.push_back("not measured: " + missing);
  }
  judge_canary(rounds, rule, report);
}

std::string disturbance_in(const Round& round) {
  std::map<std::string, RunConditions> conditions;
  for (const auto& [arm, run] : round.runs) conditions[arm] = run.conditions;
  return disturbance(conditions);
}

}  // namespace

GateReport judge_rounds(std::span<const Round> all, const regression::GateRule& rule, int ranks) {
  GateReport report;
  report.margin = rule.margin;
  report.looks = rule.looks;
  report.q = rule.q;
  for (const Round& round : all) report.duration += round.seconds;
  if (all.empty()) return report;
  const Undisturbed found = undisturbed(all);
  const std::vector<Round>& rounds = found.kept;
  report.set_aside = static_cast<int>(found.set_aside);
  report.unsteady = found.is_unsteady();
  report.notes = found.notes;
  report.rounds = static_cast<int>(rounds.size());
  judge_kept(rounds, rule, report);
  tell_unsettled(rounds, report);
  tell_load(all, report);
  if (const std::string problem = fault(all, ranks); !problem.empty()) {
    report.invalid = true;
    report.notes.insert(report.notes.begin(), problem);
    withdraw("the rounds are not valid", report);
  } else if (report.unsteady) {
    withdraw("the machine was slowed or held back too often", report);
  } else if (report.canary == regression::GateCanary::alarmed) {
    withdraw("the canary alarmed: the base differs from itself", report);
  }
  report.base.environment = all.back().runs.at(base_arm).program;
  report.changed.environment = all.back().runs.at(changed_arm).program;
  report.date = all.back().date;
  report.verdict = regression::overall_verdict(report);
  return report;
}

bool is_decided(const GateReport& report) {
  if (!regression::is_trusted(report)) return true;
  if (report.looks.empty() || report.rounds >= report.looks.back().rounds) return true;
  if (report.metrics.empty()) return report.rounds > 0;
  return std::ranges::none_of(report.metrics, [](const GateMetric& metric) {
    return metric.verdict == Verdict::inconclusive;
  });
}

ExitCode exit_code(const GateReport& report, const GateExit& exits) {
  if (report.invalid) return ExitCode::wrong_result;
  const bool is_judged = report.rounds > 0 && regression::is_trusted(report);
  if (is_judged && !report.missing.empty() && exits.missing == GateExit::Missing::fails) {
    return ExitCode::regression;
  }
  if (report.verdict == Verdict::inconclusive) {
    // Metrics are also missing if all rounds were discarded.
    if (report.metrics.empty() && (report.rounds > 0 || report.set_aside == 0)) {
      return ExitCode::nothing_measured;
    }
    if (exits.inconclusive == GateExit::Inconclusive::passes) return ExitCode::ok;
  }
  if (report.verdict == Verdict::improved && exits.improvement == GateExit::Improvement::fails) {
    return ExitCode::regression;
  }
  return regression::exit_code(report.verdict);
}

bool Undisturbed::is_unsteady() const {
  constexpr std::size_t always_allowed = 3;
  return set_aside > std::max(always_allowed, kept.size());
}

Undisturbed undisturbed(std::span<const Round> rounds) {
  constexpr std::size_t most_told = 5;
  Undisturbed result;
  for (const Round& round : rounds) {
    const std::string found = disturbance_in(round);
    if (found.empty()) {
      result.kept.push_back(round);
    } else if (++result.set_aside <= most_told) {
      result.notes.push_back(fmt::format("round {} was set aside: {}", round.number, found));
    }
  }
  if (result.set_aside > most_told) {
    result.notes.push_back(
        fmt::format("{} more rounds were set aside", result.set_aside - most_told));
  }
  return result;
}

}  // namespace dlscale::app
