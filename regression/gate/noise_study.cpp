#include "regression/gate/noise_study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/gate/gate_outlook.hpp"
#include "regression/gate/paired_gate.hpp"

namespace dlscale::regression {
namespace {


std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&values](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) ranks[order[i]] = static_cast<double>(i);
  return ranks;
}

/// Spearman's rank correlation of neighbouring values, which outliers do not dominate. 0 for fewer
/// than 3 values.
double neighbours_likeness(const std::vector<double>& values) {
  if (values.size() < 3) return 0;
  const std::vector<double> ranks = ranks_of(values);
  const double centre = static_cast<double>(ranks.size() - 1) / 2;
  double together = 0;
  double all = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    all += (ranks[i] - centre) * (ranks[i] - centre);
    if (i > 0) together += (ranks[i] - centre) * (ranks[i - 1] - centre);
  }
  return together / all;
}

/// The single row of a kernel's run.
const RunValue& single_value(const Round& round, const std::string& arm) {
  const auto run = round.runs.find(arm);
  if (run == round.runs.end() || run->second.values.size() != 1) {
    throw Error(ExitCode::nothing_measured,
                fmt::format("in round {} {} did not measure one row, so there is nothing to study. "
                            "See its log in the folder of the study.",
                            round.number, arm));
  }
  return run->second.values.front();
}

std::vector<double> single_values(std::span<const Round> rounds, const std::string& arm) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(single_value(round, arm).value);
  return values;
}

std::vector<double> differences(const std::vector<double>& base,
                                const std::vector<double>& changed) {
  std::vector<double> d;
  for (std::size_t i = 0; i < base.size(); ++i) d.push_back(std::log(changed[i] / base[i]));
  return d;
}

/// Shares of windows by verdict.
struct Shares {
  double regressed = 0;
  double cleared = 0;
};

Shares shares(const std::vector<double>& d, const GateRule& rule) {
  const auto length = static_cast<std::size_t>(rule.looks.back().rounds);
  const std::size_t windows = d.size() - length + 1;
  std::size_t regressed = 0;
  std::size_t cleared = 0;
  for (std::size_t first = 0; first < windows; ++first) {
    const auto from = d.begin() + static_cast<std::ptrdiff_t>(first);
    const std::vector<std::vector<double>> window{
        std::vector(from, from + static_cast<std::ptrdiff_t>(length))};
    const Verdict verdict = judge_gate(window, rule).front().verdict;
    regressed += verdict == Verdict::regressed ? 1 : 0;
    cleared += verdict == Verdict::not_regressed || verdict == Verdict::improved ? 1 : 0;
  }
  const auto n = static_cast<double>(windows);
  return {static_cast<double>(regressed) / n, static_cast<double>(cleared) / n};
}

std::optional<double> smallest_seen(const std::vector<double>& twins, const GateRule& rule) {
  constexpr int most_steps = 100;
  for (int step = 1; step <= most_steps; ++step) {
    const double effect = step * 0.005;
    std::vector<double> shifted = twins;
    for (double& value : shifted) value += std::log1p(effect);
    if (shares(shifted, rule).regressed >= wanted_power) return effect;
  }
  return std::nullopt;
}

/// The logarithmic ratios of each injected size and of the twins.
struct Recorded {
  std::vector<double> twins;
  std::vector<std::pair<int, std::vector<double>>> injected;
};

RuleRates rates_of(const std::string& name, const GateRule& rule, const Recorded& recorded) {
  RuleRates rates;
  rates.name = name;
  rates.rounds = rule.looks.back().rounds;
  const auto length = static_cast<std::size_t>(rates.rounds);
  if (recorded.twins.size() < length) return rates;
  rates.windows = recorded.twins.size() - length + 1;
  const Shares alike = shares(recorded.twins, rule);
  rates.false_alarms = alike.regressed;
  rates.cleared = alike.cleared;
  for (const auto& [percent, d] : recorded.injected) {
    rates.power.push_back({percent, shares(d, rule).regressed});
  }
  rates.smallest = smallest_seen(recorded.twins, rule);
  return rates;
}

std::vector<RuleRates> all_rules(const Recorded& recorded, double margin) {
  std::vector<RuleRates> rules;
  for (const int rounds : {10, 20, 40}) {
    GateRule rule;
    rule.margin = margin;
    rule.looks = {{rounds, 0.05}};
    rules.push_back(rates_of(fmt::format("{} rounds", rounds), rule, recorded));
  }
  GateRule rule;
  rule.margin = margin;
  rules.push_back(rates_of("10, 20, 40 rounds", rule, recorded));
  return rules;
}

KernelNoise study_kernel(std::span<const Round> rounds, const std::string& kernel,
                         const std::vector<int>& percents, double margin) {
  KernelNoise noise;
  noise.kernel = kernel;
  noise.rounds = rounds.size();
  noise.key = single_value(rounds.front(), noise_arm(kernel, 0)).key;
  const std::vector<double> base = single_values(rounds, noise_arm(kernel, 0));
  noise.between_runs = robust_deviation(base) / median(base);
  std::vector<double> within;
  for (const Round& round : rounds)
    within.push_back(single_value(round, noise_arm(kernel, 0)).spread);
  noise.within_run = median(within);
  noise.autocorrelation = neighbours_likeness(base);
  Recorded recorded;
  recorded.twins = differences(base, single_values(rounds, noise_twin(kernel)));
  noise.paired = robust_deviation(recorded.twins);
  for (const int percent : percents) {
    const std::vector<double> slower = single_values(rounds, noise_arm(kernel, percent));
    noise.injected.push_back({percent, std::exp(median(differences(base, slower)))});
    recorded.injected.emplace_back(percent, differences(base, slower));
  }
  noise.rules = all_rules(recorded, margin);
  return noise;
}

/// Sets the detectable effect by the last rule that has windows on all kernels.
void conclude(NoiseStudy& study) {
  for (std::size_t i = study.kernels.front().rules.size(); i-- > 0;) {
    if (study.kernels.front().rules[i].windows == 0) continue;
    study.by_rule = study.kernels.front().rules[i].name;
    study.sees = 0;
    for (const KernelNoise& kernel : study.kernels) {
      const std::optional<double> smallest = kernel.rules[i].smallest;
      if (!smallest) {
        study.sees.reset();
        return;
      }
      study.sees = std::max(*study.sees, *smallest);
    }
    return;
  }
}

}  // namespace

std::string noise_arm(const std::string& kernel, int percent) {
  return percent == 0 ? kernel + "-a" : fmt::format("{}-p{}", kernel, percent);
}

NoiseStudy study_noise(std::span<const Round> all, const std::vector<std::string>& kernels,
                       const std::vector<int>& percents, double margin) {
  if (all.empty()) {
    throw Error(ExitCode::nothing_measured,
                "no round was finished, so there is nothing to study. Measure for more minutes.");
  }
  const SteadyRounds found = steady_rounds(all);
  const std::vector<Round>& rounds = found.kept;
  if (rounds.empty()) {
    throw Error(ExitCode::nothing_measured,
                fmt::format("no round is left to study: {}. Cool the machine or lower its power, "
                            "and discard these rounds.",
                            found.notes.front()));
  }
  NoiseStudy study;
  study.margin = margin;
  study.set_aside = found.discarded;
  study.unsteady = found.is_unsteady();
  study.notes = found.notes;
  for (const std::string& kernel : kernels) {
    study.kernels.push_back(study_kernel(rounds, kernel, percents, margin));
  }
  for (const Round& round : all) study.seconds += round.seconds;
  study.date = all.back().date;
  if (!study.unsteady) conclude(study);
  return study;
}

}  // namespace dlscale::regression
