#include "regression/gate/auto_margin.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "regression/gate/paired_gate.hpp"

namespace dlscale::regression {
namespace {

/// Differences around 0 with random signs: identical versions may change places.
class Redraw {
 public:
  explicit Redraw(std::span<const double> differences)
      : centred_(differences.begin(), differences.end()) {
    const double middle = median(centred_);
    const double wider = 1 + 1.5 / static_cast<double>(centred_.size());
    for (double& d : centred_) d = (d - middle) * wider;
  }
  std::vector<double> rounds(int count) {
    std::vector<double> drawn;
    drawn.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) {
      const std::uint64_t random = generator_();
      const double d = centred_[(random >> 1U) % centred_.size()];
      drawn.push_back((random & 1U) == 0 ? d : -d);
    }
    return drawn;
  }

 private:
  std::vector<double> centred_;
  std::mt19937_64 generator_{20261129};
};

/// The least margin over the looks, as ln(1 + m): the gate is decided at every larger one.
double least_decided(std::span<const double> rounds, const GateRule& rule, double rounding) {
  double least = std::log1p(most_auto_margin) * 10;
  for (const GateLook& look : rule.looks) {
    const auto seen = rounds.first(static_cast<std::size_t>(look.rounds));
    GateEstimate estimate = estimate_gate(seen, rule.margin, look.alpha);
    if (estimate.high) *estimate.high += rounding;
    if (estimate.far_high) *estimate.far_high += rounding;
    if (const auto margin = least_log_margin(estimate); margin) least = std::min(least, *margin);
  }
  return least;
}

}  // namespace

int rounds_of_noise(const std::vector<GateLook>& looks) {
  EXPECT(!looks.empty());
  return looks.front().rounds;
}

double decidable_change(std::span<const double> differences, const GateRule& rule,
                        double rounding) {
  constexpr int gates = 200;
  EXPECT(!differences.empty() && !rule.looks.empty());
  Redraw redraw(differences);
  std::vector<double> bounds;
  bounds.reserve(gates);
  for (int i = 0; i < gates; ++i) {
    bounds.push_back(least_decided(redraw.rounds(rule.looks.back().rounds), rule, rounding));
  }
  return std::expm1(quantile(bounds, decided_share));
}

double auto_margin(std::span<const double> differences, const GateRule& rule, double rounding) {
  constexpr std::array steps{0.01, 0.0125, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1};
  static_assert(steps.front() == least_auto_margin && steps.back() == most_auto_margin);
  const double wanted = decidable_change(differences, rule, rounding);
  const auto step = std::ranges::lower_bound(steps, wanted);
  return step == steps.end() ? most_auto_margin : *step;
}

}  // namespace dlscale::regression
