#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "model/fits/increasing_root.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"

namespace dlscale::model {
namespace {

constexpr double least_computing = 0.2;  // of a measured iteration, as in ScalingModel

/// A measured point, and the costs of its iteration by data sheets.
struct Known {
  MeasuredPoint point;
  std::unique_ptr<Notes> notes;  ///< which the costs refer to
  IterationCosts costs;
  Seconds computing;  ///< of one rank alone
};

Seconds total_at(IterationCosts& costs, double computing, double added) {
  costs.computing = computing;
  costs.added = added;
  const IterationPlan plan = costs.plan({}, Bound::value);
  std::string why;
  const std::optional<IterationTime> form = closed_form(plan, why);
  return form ? form->total : simulate_iteration(plan).total;
}

Seconds computing_of(const IterationCosts& costs) {
  Seconds sum = costs.update.compute.value;
  for (const StepCost& step : costs.forward) sum += step.compute.value;
  for (const auto& part : costs.backward) {
    for (const StepCost& step : part) sum += step.compute.value;
  }
  return sum;
}

/// x in [low, high] where the growing f(x) is nearest to `wanted`, to 1e-9 of it.
template <class Function>
double solve(const Function& f, double low, double high, Seconds wanted) {
  const auto excess = [&](double x) { return (f(x) - wanted).si(); };
  return increasing_root(excess, low, high, 1e-9 * wanted.si());
}

/// The factors that meet a point, for a wanted factor on what ranks add.
struct Factors {
  double computing = 1;
  double added = 1;
};

Factors meeting(Known& known, double added) {
  const Seconds wanted = known.point.iteration;
  const double whole = wanted / known.computing;
  const double least = known.point.ranks == 1 ? 1e-3 * whole : least_computing * whole;
  const auto by_computing = [&](double factor) { return total_at(known.costs, factor, added); };
  if (by_computing(least) <= wanted) return {solve(by_computing, least, whole, wanted), added};
  const auto by_added = [&](double factor) { return total_at(known.costs, least, factor); };
  return {least, solve(by_added, 1e-6, added, wanted)};
}

void check_met(const Known& known, Seconds found) {
  constexpr double rounding = 1e-3;
  const Seconds wanted = known.point.iteration;
  if (std::abs(found / wanted - 1) < rounding) return;
  throw ConfigError(
      fmt::format("the measured iteration of {} on {} {} cannot be: input or messages alone take "
                  "{} here. Check "
                  "the point, or state the input of the cluster.",
                  to_text(wanted), known.point.ranks, known.point.ranks == 1 ? "rank" : "ranks",
                  to_text(found)));
}

/// Σ of squared logarithms of what other points miss.
double missed(std::vector<Known>& all, const Factors& factors) {
  double sum = 0;
  for (Known& known : all) {
    const double error =
        std::log(total_at(known.costs, factors.computing, factors.added) / known.point.iteration);
    sum += error * error;
  }
  return sum;
}

/// The factor on what ranks add that misses the other points least, by golden section.
Factors fitted(std::vector<Known>& all) {
  constexpr double golden = 0.6180339887498949;
  double low = std::log(0.05);
  double high = std::log(20.0);
  const auto at = [&](double log_added) {
    return missed(all, meeting(all.front(), std::exp(log_added)));
  };
  for (int round = 0; round < 25; ++round) {
    const double one = high - golden * (high - low);
    const double other = low + golden * (high - low);
    const bool is_lower = at(one) < at(other);
    (is_lower ? high : low) = is_lower ? other : one;
  }
  return meeting(all.front(), std::exp((low + high) / 2));
}

}  // namespace

void anchor(const Network& network, const Machine& machine, const Run& run, IterationCosts& costs) {
  if (machine.points.empty()) return;
  Machine unanchored = machine;
  unanchored.points.clear();
  std::vector<MeasuredPoint> points = machine.points;
  std::ranges::stable_sort(points, {}, [&](const MeasuredPoint& point) {
    return std::abs(std::log2(static_cast<double>(point.ranks) / run.ranks));
  });
  std::vector<Known> all;
  for (const MeasuredPoint& point : points) {
    Run there = run;
    there.ranks = point.ranks;
    auto notes = std::make_unique<Notes>();
    IterationCosts found = iteration_costs(network, unanchored, there, *notes);
    all.push_back({point, std::move(notes), std::move(found), {}});
    all.back().computing = computing_of(all.back().costs);
  }
  const bool several = std::ranges::any_of(
      all, [&](const Known& known) { return known.point.ranks != points.front().ranks; });
  const Factors factors = several ? fitted(all) : meeting(all.front(), 1);
  check_met(all.front(), total_at(all.front().costs, factors.computing, factors.added));
  costs.computing = factors.computing;
  costs.added = factors.added;
  if (!costs.facts) return;
  const auto& there = all.front().costs.facts;  // none of a rank alone
  costs.facts->given = there ? there->asked : scaling::Layout{};
  costs.facts->given_iteration = all.front().point.iteration;
}

}  // namespace dlscale::model
