#include "studies.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>

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
