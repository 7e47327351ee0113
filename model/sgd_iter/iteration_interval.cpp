#include "model/sgd_iter/iteration_interval.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/joint_interval.hpp"

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

/// Whether the simulation is the same at both ends of a term, so that one suffices.
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
    case IterationTerm::update:
      return is_exact(costs.update.compute) &&
             std::ranges::all_of(costs.late,
                                 [](const LateCost& one) { return is_exact(one.update.compute); });
    case IterationTerm::compute:
      return false;
  }
  fail_expectation("a term of the enumeration");
}

std::vector<IterationTerm> moving_terms(const IterationCosts& costs) {
  std::vector<IterationTerm> moving;
  for (const IterationTerm term : all_iteration_terms) {
    if (!is_still(costs, term)) moving.push_back(term);
  }
  return moving;
}

/// Forward and backward at their low ends.
Seconds quickest_computing(const IterationCosts& costs) {
  Seconds sum;
  for (const StepCost& step : costs.forward) sum += step.compute.low;
  for (const auto& steps : costs.backward) {
    for (const StepCost& step : steps) sum += step.compute.low;
  }
  return sum;
}

bool is_work(IterationTerm term) {
  return term == IterationTerm::compute || term == IterationTerm::communication;
}

/// Whether computing or messages and a concurrent term may hide each other.
bool may_hide(const IterationCosts& costs, IterationTerm work, IterationTerm other) {
  EXPECT(is_work(work) && work != other);
  switch (other) {
    case IterationTerm::compute:
    case IterationTerm::communication:
      return costs.shape.schedule != Schedule::sequential;
    case IterationTerm::copy:  // if it is always the shorter, it stays hidden
      return costs.shape.input_copy == InputCopy::ahead &&
             costs.h2d.compute.high > quickest_computing(costs);
    case IterationTerm::update:
      return !costs.late.empty();
    case IterationTerm::input:
    case IterationTerm::launches:
    case IterationTerm::contention:
      return true;
  }
  fail_expectation("a term of the enumeration");
}

std::vector<std::pair<std::size_t, std::size_t>> hiding_pairs(
    const IterationCosts& costs, const std::vector<IterationTerm>& terms) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (!is_work(terms[i])) continue;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      const bool is_told = j == i || (is_work(terms[j]) && j < i);
      if (!is_told && may_hide(costs, terms[i], terms[j])) pairs.emplace_back(i, j);
    }
  }
  return pairs;
}

}  // namespace

IterationInterval interval_of(const IterationCosts& costs, bool fitted, Seconds total) {
  const std::vector<IterationTerm> terms = moving_terms(costs);
  const auto iteration = [&](const InputPlaces& places) {
    TermBounds bounds{};
    bool is_total = true;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (places[i] == 0) continue;
      is_total = false;
      bounds.at(static_cast<std::size_t>(terms[i])) = places[i] < 0 ? Bound::low : Bound::high;
    }
    return (is_total ? total : simulate_iteration(costs.plan(bounds)).total).si();
  };
  const QuantityInterval interval =
      joint_interval(terms.size(), hiding_pairs(costs, terms),
                     fitted ? deviations_of_95 : deviations_of_90, iteration);
  return {std::max(Seconds(), Seconds(interval.low)), Seconds(interval.high)};
}

}  // namespace dlscale::model
