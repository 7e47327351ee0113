#include "studies.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>

#include "regression/gate/auto_margin.hpp"

namespace dlscale::regression {
namespace {

/// d of successive rounds from a random one on.
std::vector<double> draw(std::span<const double> a, std::span<const double> b, std::size_t rounds,
                         Draws& draws) {
  const std::size_t first = draws.below(a.size() - rounds);
  std::vector<double> differences;
  for (std::size_t i = first; i < first + rounds; ++i) differences.push_back(std::log(b[i] / a[i]));
  return differences;
}

}  // namespace

GateRates gate_rates(const RecordedNoise& noise, const std::string& changed, const GateRule& rule,
                     std::size_t draws) {
  const std::vector<double>& a = noise.at(changed.substr(0, changed.find(':')) + ":A");
  const std::vector<double>& b = noise.at(changed);
  const auto rounds = static_cast<std::size_t>(rule.looks.back().rounds);
  Draws random(20261120);
  GateRates rates;
  const double share = 1.0 / static_cast<double>(draws);
  for (std::size_t i = 0; i < draws; ++i) {
    const std::vector<std::vector<double>> one{draw(a, b, rounds, random)};
    const GateDecision decision = judge_gate(one, rule).front();
    rates.regressed += decision.verdict == Verdict::regressed ? share : 0;
    rates.not_regressed += decision.verdict == Verdict::not_regressed ? share : 0;
    rates.mean_rounds += share * decision.rounds;
  }
  return rates;
}

std::vector<double> draw_rounds(RoundNoise noise, std::size_t rounds, Draws& draws) {
  double drift = draws.normal();
  const auto run = [&draws, &drift, noise] {
    const double narrow = 0.01 * draws.normal();
    switch (noise) {
      case RoundNoise::normal_3:
        return std::log1p(3 * narrow);
      case RoundNoise::two_levels:
        return std::log1p(narrow) + (draws.uniform() < 0.5 ? std::log(1.05) : 0);
      case RoundNoise::rare_level:
        return std::log1p(narrow) + (draws.uniform() < 0.2 ? std::log(1.05) : 0);
      case RoundNoise::drifting:
        drift = 0.8 * drift + 0.6 * draws.normal();
        return std::log1p(0.03 * drift);
      case RoundNoise::normal_1:
        break;
    }
    return std::log1p(narrow);
  };
  std::vector<double> differences;
  for (std::size_t i = 0; i < rounds; ++i) {
    const bool base_first = draws.uniform() < 0.5;
    const double first = run();
    const double second = run();
    differences.push_back(base_first ? second - first : first - second);
  }
  return differences;
}

std::vector<double> draw_rounds(const RecordedNoise& noise, const std::string& kernel,
                                std::size_t rounds, Draws& draws) {
  return draw(noise.at(kernel + ":A"), noise.at(kernel + ":A2"), rounds, draws);
}

void add_gate(std::vector<double> differences, double change, GateRule::Margin margin_from,
              MarginRates& rates) {
  GateRule rule;
  rule.looks = looks_up_to(static_cast<int>(differences.size()));
  double margin = rule.margin;
  if (margin_from == GateRule::Margin::of_noise) {
    const auto pilot = static_cast<std::size_t>(rounds_of_noise(rule.looks));
    margin = auto_margin(std::span(differences).first(pilot), rule);
  }
  for (double& d : differences) d += std::log1p(change);
  const std::vector<std::vector<double>> one{std::move(differences)};
  const GateDecision decision = judge_gate(one, rule, std::vector{margin}).front();
  const bool is_regressed = decision.verdict == Verdict::regressed;
  const bool is_cleared = decision.decided && !is_regressed;
  ++rates.gates;
  rates.regressed += is_regressed ? 1 : 0;
  rates.not_regressed += is_cleared ? 1 : 0;
  rates.false_regressed += is_regressed && change <= rule.margin ? 1 : 0;
  rates.false_not_regressed += is_cleared && change > margin ? 1 : 0;
  rates.margin += (margin - rates.margin) / rates.gates;
  rates.rounds += (decision.rounds - rates.rounds) / rates.gates;
}

Verdict verdict_at_margin(std::vector<double> differences) {
  GateRule rule;
  rule.looks = looks_up_to(static_cast<int>(differences.size()));
  const auto pilot = static_cast<std::size_t>(rounds_of_noise(rule.looks));
  const double margin = auto_margin(std::span(differences).first(pilot), rule);
  for (double& d : differences) d += std::log1p(margin);
  const std::vector<std::vector<double>> one{std::move(differences)};
  return judge_gate(one, rule, std::vector{margin}).front().verdict;
}

GateRule one_look(int rounds, double margin) {
  return {.margin = margin, .looks = {{rounds, 0.05}}, .q = 0.05};
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
