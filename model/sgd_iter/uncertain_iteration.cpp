#include "model/sgd_iter/uncertain_iteration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numbers>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"

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

constexpr std::size_t lattice_points = 1021;  // prime
/// Found by search: for any two of seven normal inputs both quantiles of the sum and of the maximum
/// are within 0.04 deviations of one (tests/model/joint_interval_test.cpp).
constexpr std::uint64_t lattice_generator = 452;
constexpr std::uint64_t lattice_shift = 389;

/// x of Φ(x) = p in (0, 1), by bisection to 1e-12; equal on every machine with the same erfc.
double normal_quantile(double p) {
  double below = -10;
  double above = 10;
  while (above - below > 1e-12) {
    const double middle = (below + above) / 2;
    const bool is_less = std::erfc(-middle / std::numbers::sqrt2) / 2 < p;
    (is_less ? below : above) = middle;
  }
  return (below + above) / 2;
}

/// Normal quantiles at the midpoints of equal parts of probability.
const std::array<double, lattice_points>& normal_scores() {
  static const auto scores = [] {
    std::array<double, lattice_points> all{};
    for (std::size_t i = 0; i < lattice_points; ++i) {
      all.at(i) = normal_quantile((static_cast<double>(i) + 0.5) / lattice_points);
    }
    return all;
  }();
  return scores;
}

/// Interpolates between the two nearest midpoints of equal parts.
double quantile_of(std::vector<double>& values, double p) {
  const double at = std::clamp(p * static_cast<double>(values.size()) - 0.5, 0.0,
                               static_cast<double>(values.size() - 1));
  const auto below = static_cast<std::size_t>(at);
  const auto nth = values.begin() + static_cast<std::ptrdiff_t>(below);
  std::ranges::nth_element(values, nth);
  if (below + 1 == values.size()) return *nth;
  const double next = *std::min_element(nth + 1, values.end());
  return *nth + (at - static_cast<double>(below)) * (next - *nth);
}

using OfErrors = std::function<double(const std::vector<double>&)>;

/// The quantity at the points of the lattice.
std::vector<double> values_on_lattice(const OfErrors& of, std::size_t inputs, double deviations) {
  const auto& scores = normal_scores();
  std::vector<double> values;
  values.reserve(lattice_points);
  std::vector<double> errors(inputs);
  for (std::uint64_t point = 0; point < lattice_points; ++point) {
    std::uint64_t unshifted = point;
    std::uint64_t shift = 0;
    for (double& error : errors) {
      error = scores.at((unshifted + shift) % lattice_points) / deviations;
      unshifted = unshifted * lattice_generator % lattice_points;
      shift += lattice_shift;
    }
    values.push_back(of(errors));
  }
  return values;
}

/// The quantiles of joint_interval(), which hold `value`.
QuantityInterval interval_over(const OfErrors& of, std::size_t inputs, double deviations,
                               double value) {
  EXPECT(deviations > 0);
  if (inputs == 0) return {value, value};
  if (inputs == 1) {
    const double end = deviations_of_90 / deviations;
    const double low = of({-end});
    const double high = of({end});
    return {std::min({low, high, value}), std::max({low, high, value})};
  }
  std::vector<double> values = values_on_lattice(of, inputs, deviations);
  const double low = quantile_of(values, 0.05);
  return {std::min(low, value), std::max(quantile_of(values, 0.95), value)};
}

TermBounds bounds_at(const InputPlaces& places, const std::vector<IterationTerm>& terms) {
  TermBounds bounds{};
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (places[i] == 0) continue;
    bounds.at(static_cast<std::size_t>(terms[i])) = places[i] < 0 ? Bound::low : Bound::high;
  }
  return bounds;
}

InterpolatedQuantity interpolated(const IterationCosts& costs,
                                  const std::vector<IterationTerm>& terms, Seconds total) {
  const auto iteration = [&](const InputPlaces& places) {
    const bool is_total = std::ranges::count(places, 0) == std::ssize(places);
    return (is_total ? total : simulate_iteration(costs.plan(bounds_at(places, terms))).total).si();
  };
  return {terms.size(), hiding_pairs(costs, terms), iteration};
}

/// All terms but messages at one end, since the times of all kernels err together.
IterationPlan computing_at(const IterationCosts& costs, Bound bound) {
  TermBounds bounds{};
  bounds.fill(bound);
  bounds.at(static_cast<std::size_t>(IterationTerm::communication)) = Bound::value;
  return costs.plan(bounds);
}

/// Computing of a rank alone.
Seconds computing_alone(const IterationPlan& plan) {
  Seconds sum = plan.forward.device + plan.update.device;
  for (const ForwardPart& part : plan.late) sum += part.update.device + part.compute.device;
  for (const BackwardPart& part : plan.backward) sum += part.compute.device;
  return sum / plan.slowest;
}

/// The factors with a further, independent error of ± `miss` in the logarithm.
TimeFactors widened(const TimeFactors& factors, double miss) {
  return {std::exp(-std::hypot(std::log(factors.low), miss)),
          std::exp(std::hypot(std::log(factors.high), miss))};
}

SheetErrors sheet_errors(const IterationCosts& costs, const IterationTime& time) {
  SheetErrors errors;
  const std::optional<FromPoints>& measured = costs.from_points;
  if (!measured || !measured->same_device) {
    errors.computing = {iteration_total(computing_at(costs, Bound::low)) / time.total,
                        iteration_total(computing_at(costs, Bound::high)) / time.total};
  }
  if (!costs.facts) return errors;
  scaling::TrainingFacts facts = *costs.facts;
  const bool is_given = measured && measured->same_exchange;
  if (!is_given) facts.given_iteration = computing_alone(costs.plan({}, Bound::value));
  errors.scaling = scaling_factors(facts);
  if (measured) errors.scaling = widened(errors.scaling, measured->miss);
  return errors;
}

}  // namespace

InterpolatedQuantity::InterpolatedQuantity(
    std::size_t inputs, const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
    const OfInputs& quantity) {
  InputPlaces places(inputs, 0);
  at_value_ = quantity(places);
  const auto at_end = [&](std::size_t input, int end) {
    places[input] = end;
    const double value = quantity(places);
    places[input] = 0;
    return value;
  };
  for (std::size_t i = 0; i < inputs; ++i) {
    alone_.push_back({at_end(i, -1) - at_value_, at_end(i, 1) - at_value_});
  }
  const auto together = [&](std::size_t i, int end_of_i, std::size_t j, int end_of_j) {
    places[i] = end_of_i;
    const double value = at_end(j, end_of_j);
    places[i] = 0;
    return value - at_value_ - alone_[i].of(end_of_i) - alone_[j].of(end_of_j);
  };
  for (const auto& [i, j] : pairs) {
    EXPECT(i < inputs && j < inputs && i != j);
    pairs_.push_back({i,
                      j,
                      {together(i, -1, j, -1), together(i, -1, j, 1)},
                      {together(i, 1, j, -1), together(i, 1, j, 1)}});
  }
}

double InterpolatedQuantity::at(const std::vector<double>& errors) const {
  double sum = at_value_;
  for (std::size_t i = 0; i < alone_.size(); ++i) {
    sum += std::abs(errors[i]) * alone_[i].of(errors[i]);
  }
  for (const PairSides& pair : pairs_) {
    const double u = errors[pair.one];
    const double v = errors[pair.other];
    sum += std::min(std::abs(u), std::abs(v)) * pair.of(u, v);
  }
  return sum;
}

QuantityInterval joint_interval(std::size_t inputs,
                                const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                                double deviations, const OfInputs& quantity) {
  const InterpolatedQuantity of(inputs, pairs, quantity);
  return interval_over([&](const std::vector<double>& errors) { return of.at(errors); }, inputs,
                       deviations, of.at_value());
}

UncertainIteration::UncertainIteration(const IterationCosts& costs, bool fitted,
                                       const IterationTime& time)
    : terms_(costs.by_sheets ? std::vector<IterationTerm>() : moving_terms(costs)),
      time_(interpolated(costs, terms_, time.total)),
      deviations_(fitted ? deviations_of_95 : deviations_of_90),
      total_(time.total) {
  if (costs.by_sheets) by_sheets_ = sheet_errors(costs, time);
}

IterationInterval UncertainIteration::interval() const {
  if (by_sheets_) {
    const auto& [computing, scaling] = *by_sheets_;
    const double low = std::exp(-std::hypot(std::log(computing.low), std::log(scaling.low)));
    const double high = std::exp(std::hypot(std::log(computing.high), std::log(scaling.high)));
    return {low * total_ + exact_, high * total_ + exact_};
  }
  const auto [low, high] =
      interval_over([&](const std::vector<double>& errors) { return time_.at(errors); },
                    terms_.size(), deviations_, total_.si());
  return {std::max(Seconds(), Seconds(low)) + exact_, Seconds(high) + exact_};
}

bool UncertainIteration::errs_by(IterationTerm term) const {
  if (by_sheets_) return is_work(term);
  return std::ranges::find(terms_, term) != terms_.end();
}

Seconds UncertainIteration::at(const TermErrors& errors) const {
  if (by_sheets_) {
    const auto of = [&](IterationTerm term, const TimeFactors& factors) {
      const double error = errors.at(static_cast<std::size_t>(term));
      return std::pow(error < 0 ? factors.low : factors.high, std::abs(error));
    };
    return of(IterationTerm::compute, by_sheets_->computing) *
               of(IterationTerm::communication, by_sheets_->scaling) * total_ +
           exact_;
  }
  std::vector<double> of_terms;
  for (const IterationTerm term : terms_) {
    of_terms.push_back(errors.at(static_cast<std::size_t>(term)));
  }
  return std::max(0.01 * value(), Seconds(time_.at(of_terms)) + exact_);
}

UncertainIteration uncertain_iteration(const Network& network, const Machine& machine,
                                       const Run& run) {
  Notes notes;
  const Network running = as_run(network, run);  // the costs refer to it
  const IterationCosts costs = iteration_costs(running, machine, run, notes);
  return {costs, machine.fitted, simulate_iteration(costs.plan({}, Bound::value))};
}

QuantityInterval relative_speedup(const UncertainIteration& run, const UncertainIteration& base) {
  if (run.by_sheets() && base.by_sheets()) {
    const TimeFactors& of_run = run.by_sheets()->scaling;
    const TimeFactors& of_base = base.by_sheets()->scaling;
    const bool is_same =
        run.value() == base.value() && of_run.low == of_base.low && of_run.high == of_base.high;
    if (is_same) return {1, 1};
    if (of_base.low == 1 && of_base.high == 1) {
      return {std::min(1 / of_run.high, 1.0), std::max(1 / of_run.low, 1.0)};
    }
    return {std::exp(-std::hypot(std::log(of_base.low), std::log(of_run.high))),
            std::exp(std::hypot(std::log(of_base.high), std::log(of_run.low)))};
  }
  std::vector<IterationTerm> terms;
  for (const IterationTerm term : all_iteration_terms) {
    if (run.errs_by(term) || base.errs_by(term)) terms.push_back(term);
  }
  const auto ratio = [&](const std::vector<double>& errors) {
    TermErrors of_terms{};
    for (std::size_t i = 0; i < terms.size(); ++i) {
      of_terms.at(static_cast<std::size_t>(terms[i])) = errors[i];
    }
    return base.at(of_terms) / base.value() * (run.value() / run.at(of_terms));
  };
  return interval_over(ratio, terms.size(), run.deviations(), 1);
}

}  // namespace dlscale::model
