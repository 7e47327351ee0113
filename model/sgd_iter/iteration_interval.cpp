#include "model/sgd_iter/iteration_interval.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "model/piecewise.hpp"
#include "model/sgd_iter/costs.hpp"
#include "model/sgd_iter/iteration.hpp"

namespace dlscale::model {
namespace {

bool is_exact(const Estimate<Seconds>& time) {
  return time.low == time.value && time.high == time.value;
}

bool gives_exactly(const IterationCosts& costs) {
  const auto exactly = [](const StepCost& step) { return is_exact(step.give); };
  return exactly(costs.h2d) && exactly(costs.update) &&
         std::ranges::all_of(costs.forward, exactly) &&
         std::ranges::all_of(costs.late, exactly, &LateCost::update) &&
         std::ranges::all_of(costs.backward, [&](const auto& steps) {
           return std::ranges::all_of(steps, exactly);
         });
}

/// Whether the simulation is the same at both ends of a term, which saves it.
bool is_still(const IterationCosts& costs, IterationTerm term) {
  switch (term) {
    case IterationTerm::communication:
      return std::ranges::none_of(costs.message, [](const auto& one) { return one.has_value(); });
    case IterationTerm::copy:
      return is_exact(costs.h2d.compute);
    case IterationTerm::input:
      return is_exact(costs.load);
    case IterationTerm::launches:
      return gives_exactly(costs);
    case IterationTerm::contention:
      return costs.contention.kinds.empty();
    case IterationTerm::compute:
    case IterationTerm::update:
      return false;
  }
  fail_expectation("a term of the enumeration");
}

}  // namespace

IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total) {
  double below = 0;
  double above = 0;
  for (const IterationTerm term : all_iteration_terms) {
    if (is_still(costs, term)) continue;
    const Seconds low = simulate_iteration(costs.plan(term, Bound::low)).total;
    const Seconds high = simulate_iteration(costs.plan(term, Bound::high)).total;
    below += std::pow(std::max(0.0, (total - low).si()), 2);
    above += std::pow(std::max(0.0, (high - total).si()), 2);
  }
  const double scale = fitted ? deviations_of_90 / deviations_of_95 : 1;
  return {total - Seconds(scale * std::sqrt(below)), total + Seconds(scale * std::sqrt(above))};
}

}  // namespace dlscale::model
