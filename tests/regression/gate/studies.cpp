#include "studies.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

#include "core/base/error.hpp"
#include "regression/statistics/new_point.hpp"

namespace dlscale::regression {
namespace {

std::vector<double> logarithms_of_ratio(std::span<const double> a, std::span<const double> b) {
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(std::log(b[i] / a[i]));
  return differences;
}

std::vector<double> statistics(const RecordedNoise& noise, const std::string& arm,
                               RunStatistic statistic) {
  return statistic == RunStatistic::median ? noise.medians(arm) : noise.minima(arm);
}

/// d of one draw.
class DrawOfRounds {
 public:
  DrawOfRounds(const RecordedNoise& noise, const std::string& changed, RunStatistic statistic,
               Pairing pairing)
      : pairing_(pairing) {
    const std::string base = changed.substr(0, changed.find(':')) + ":A";
    a_ = statistics(noise, base, statistic);
    b_ = statistics(noise, changed, statistic);
    repetitions_a_ = &noise.repetitions.at(base);
    repetitions_b_ = &noise.repetitions.at(changed);
  }

  std::vector<double> operator()(std::size_t rounds, Draws& draws) const {
    const std::size_t first = draws.below(a_.size() - rounds);
    const std::span a(a_);
    const std::span b(b_);
    switch (pairing_) {
      case Pairing::of_rounds:
        return logarithms_of_ratio(a.subspan(first, rounds), b.subspan(first, rounds));
      case Pairing::broken: {
        const std::size_t other = draws.below(b_.size() - rounds);
        return logarithms_of_ratio(a.subspan(first, rounds), b.subspan(other, rounds));
      }
      case Pairing::within_process:
        break;
    }
    const std::span runs_a((*repetitions_a_)[first]);
    const std::span runs_b((*repetitions_b_)[first]);
    return logarithms_of_ratio(runs_a.first(rounds), runs_b.first(rounds));
  }

 private:
  Pairing pairing_;
  std::vector<double> a_;
  std::vector<double> b_;
  const std::vector<std::vector<double>>* repetitions_a_;
  const std::vector<std::vector<double>>* repetitions_b_;
};

}  // namespace

GateRates gate_rates(const RecordedNoise& noise, const std::string& changed, const GateRule& rule,
                     std::size_t draws, RunStatistic statistic, Pairing pairing) {
  const DrawOfRounds draw(noise, changed, statistic, pairing);
  Draws random(20261120);
  GateRates rates;
  const double share = 1.0 / static_cast<double>(draws);
  for (std::size_t i = 0; i < draws; ++i) {
    const std::vector<std::vector<double>> one{
        draw(static_cast<std::size_t>(rule.looks.back().rounds), random)};
    const GateDecision decision = judge_gate(one, rule).front();
    switch (decision.verdict) {
      case Verdict::regressed:
        rates.regressed += share;
        break;
      case Verdict::not_regressed:
        rates.not_regressed += share;
        break;
      case Verdict::improved:
        rates.improved += share;
        break;
      case Verdict::inconclusive:
        rates.inconclusive += share;
        break;
      case Verdict::unchanged:
      case Verdict::shifted:
      case Verdict::wrong:
        fail_expectation("a verdict of a gate");
    }
    rates.mean_rounds += share * decision.rounds;
  }
  return rates;
}

GateRule one_look(int rounds, double margin, GateRule::Method method) {
  return {.margin = margin, .looks = {{rounds, 0.05}}, .q = 0.05, .method = method};
}

ChangeRates change_rates(Noise noise, double step, const ChangePointRule& rule, std::size_t series,
                         std::uint64_t seed) {
  constexpr std::size_t points = 100;
  Draws draws(seed);
  ChangeRates rates;
  const double share = 1.0 / static_cast<double>(series);
  for (std::size_t i = 0; i < series; ++i) {
    const std::size_t at = step == 0 ? points : 30 + draws.below(41);
    const std::vector<double> history = draw_history(noise, points, at, step, draws);
    const ChangePoints found = find_change_points(history, rule);
    const auto near = [at](const ChangePoint& change) {
      return change.after + 5 >= at && change.after <= at + 5;
    };
    const auto hits = std::ranges::count_if(found.changes, near);
    rates.any += found.changes.empty() ? 0 : share;
    rates.found += hits > 0 ? share : 0;
    const auto is_excused = [&near](const ChangePoint& change) {
      return near(change) && change.between_modes;
    };
    rates.excused += std::ranges::any_of(found.changes, is_excused) ? share : 0;
    rates.extra += share * static_cast<double>(found.changes.size() - (hits > 0 ? 1 : 0));
  }
  return rates;
}

DriftRates drift_rates(double drift, const ChangePointRule& rule, std::size_t series,
                       std::uint64_t seed) {
  constexpr std::size_t commits = 140;
  constexpr double noise = 0.003;
  const NewPointRule newest;
  Draws draws(seed);
  DriftRates rates;
  const double share = 1.0 / static_cast<double>(series);
  for (std::size_t i = 0; i < series; ++i) {
    std::vector<double> history;
    bool newest_alarms = false;
    bool has_changes = false;
    for (std::size_t commit = 0; commit < commits; ++commit) {
      const double level = 100 * std::pow(1 + drift, static_cast<double>(commit));
      const auto run = [&] { return level * std::exp(noise * draws.normal()); };
      const std::vector<double> runs{run(), run(), run()};
      if (history.size() >= newest.least) {
        const NewPoint judged =
            judge_new_point(history, runs, Direction::smaller_is_better, newest);
        newest_alarms = newest_alarms || judged.verdict == Verdict::regressed;
      }
      history.push_back(runs.front());
      has_changes = has_changes || !find_change_points(history, rule).changes.empty();
    }
    rates.newest += newest_alarms ? share : 0;
    rates.changes += has_changes ? share : 0;
    rates.at_end += find_change_points(history, rule).changes.empty() ? 0 : share;
  }
  return rates;
}

LabelScore score_labels(const std::vector<LabelledHistory>& histories,
                        const ChangePointRule& rule) {
  constexpr std::size_t around = 50;
  LabelScore score;
  const auto distance = [](std::size_t a, std::size_t b) { return a > b ? a - b : b - a; };
  for (const LabelledHistory& history : histories) {
    std::set<std::size_t> extra;
    for (const std::size_t label : history.labels) {
      const std::size_t first = label > around ? label - around : 0;
      const std::size_t end = std::min(label + around, history.values.size());
      const ChangePoints found =
          find_change_points(std::span(history.values).subspan(first, end - first), rule);
      ++score.labels;
      bool hit = false;
      for (const ChangePoint& change : found.changes) {
        const std::size_t at = first + change.after;
        hit = hit || distance(at, label) <= 3;
        const bool known = std::ranges::any_of(
            history.labels, [&](std::size_t other) { return distance(at, other) <= 3; });
        if (!known) extra.insert(at);
      }
      score.found += hit ? 1 : 0;
    }
    score.extra += static_cast<int>(extra.size());
  }
  return score;
}

}  // namespace dlscale::regression
