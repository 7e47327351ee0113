#include "model/sgd_iter/iteration_interval.hpp"

#include <algorithm>
#include <cmath>

#include "model/piecewise.hpp"
#include "model/sgd_iter/costs.hpp"
#include "model/sgd_iter/iteration.hpp"

namespace dlscale::model {
namespace {

/// Terms without which the simulation is as before.
bool is_absent(const IterationCosts& costs, IterationTerm term) {
  if (term == IterationTerm::contention) return costs.contention.kinds.empty();
  if (term != IterationTerm::communication) return false;
  return std::ranges::none_of(costs.message, [](const auto& one) { return one.has_value(); });
}

}  // namespace

IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total) {
  double below = 0;
  double above = 0;
  for (const IterationTerm term : all_iteration_terms) {
    if (is_absent(costs, term)) continue;
    const Seconds low = simulate_iteration(costs.plan(term, Bound::low)).total;
    const Seconds high = simulate_iteration(costs.plan(term, Bound::high)).total;
    below += std::pow(std::max(0.0, (total - low).si()), 2);
    above += std::pow(std::max(0.0, (high - total).si()), 2);
  }
  const double scale = fitted ? deviations_of_90 / deviations_of_95 : 1;
  return {total - Seconds(scale * std::sqrt(below)), total + Seconds(scale * std::sqrt(above))};
}

}  // namespace dlscale::model
