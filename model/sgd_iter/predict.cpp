#include "model/sgd_iter/predict.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/text/quantity_text.hpp"
#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/straggler_cost.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

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

/// T at an end of an input, or of two, less the terms of fewer inputs.
struct Sides {
  double low = 0;
  double high = 0;
  [[nodiscard]] double of(double u) const { return u < 0 ? low : high; }
};

struct PairSides {
  std::size_t one = 0;
  std::size_t other = 0;
  Sides low;   ///< of `one` at its low end
  Sides high;  ///< and at its high end
  [[nodiscard]] double of(double u, double v) const { return (u < 0 ? low : high).of(v); }
};

/// T(u) as in the header.
class Interpolated {
 public:
  Interpolated(std::size_t inputs, const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
               const OfInputs& quantity)
      : quantity_(&quantity), places_(inputs, 0), at_value_(quantity(places_)) {
    for (std::size_t i = 0; i < inputs; ++i) {
      alone_.push_back({at_end(i, -1) - at_value_, at_end(i, 1) - at_value_});
    }
    for (const auto& [i, j] : pairs) {
      EXPECT(i < inputs && j < inputs && i != j);
      pairs_.push_back({i,
                        j,
                        {together(i, -1, j, -1), together(i, -1, j, 1)},
                        {together(i, 1, j, -1), together(i, 1, j, 1)}});
    }
  }

  [[nodiscard]] double at_value() const { return at_value_; }
  [[nodiscard]] double at(const std::vector<double>& errors) const {
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

 private:
  double at_end(std::size_t input, int end) {
    places_[input] = end;
    const double value = (*quantity_)(places_);
    places_[input] = 0;
    return value;
  }
  double together(std::size_t i, int end_of_i, std::size_t j, int end_of_j) {
    places_[i] = end_of_i;
    const double value = at_end(j, end_of_j);
    places_[i] = 0;
    return value - at_value_ - alone_[i].of(end_of_i) - alone_[j].of(end_of_j);
  }

  const OfInputs* quantity_;
  InputPlaces places_;
  double at_value_;
  std::vector<Sides> alone_;
  std::vector<PairSides> pairs_;
};

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

/// T at the points of the lattice.
std::vector<double> values_on_lattice(const Interpolated& of, std::size_t inputs,
                                      double deviations) {
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
    values.push_back(of.at(errors));
  }
  return values;
}

constexpr std::string_view computing_bound = "compute";

/// Notes that the prediction is from data sheets, and the source of its interval.
void note_data_sheets(const Cluster& cluster, const Run& run, Notes& notes) {
  const Placement placement{run.ranks, run.ranks_per_node};
  const ComputingShares& shares = computing_shares;
  notes.add(NoteKind::data_sheets);
  notes.add(NoteKind::computing_interval,
            {shares.range.low, shares.range.high, shares.points, shares.median});
  if (const std::string beyond = beyond_evidence(cluster, run); !beyond.empty()) {
    notes.add(NoteKind::other_evidence, {beyond});
  }
  if (placement.ranks == 1) return;
  const bool several = placement.nodes() > 1;
  const LinkSpec& link = several ? cluster.inter_node : cluster.intra_node;
  if (link.bandwidth <= BytesPerSecond()) return;
  const LinkShares link_shares = several ? shares_between(cluster) : shares_within(cluster);
  notes.add(NoteKind::message_interval, {},
            {several ? "between nodes" : "within a node", 100 * link_shares.efficiency,
             link_shares.startup});
}

/// Notes links of unknown kind that count by their description.
void note_untold_links(const Machine& machine, const Placement& placement, Notes& notes) {
  if (machine.fitted && !machine.inter_node_stated) return;
  const Placement by_word = machine.fitted ? Placement{placement.nodes(), 1} : placement;
  for (const Note& note : untold_links(machine.cluster, by_word)) notes.add(note);
}

/// Forward and backward on the device and the host.
LaunchedWork computing_work(const IterationPlan& plan) {
  LaunchedWork all = plan.forward;
  for (const ForwardPart& part : plan.late) all = all.then(part.compute);
  for (const BackwardPart& part : plan.backward) all = all.then(part.compute);
  return all;
}

/// The same plan on a host that launches work in no time.
IterationPlan launched_at_once(IterationPlan plan) {
  for (LaunchedWork* work : {&plan.h2d, &plan.forward, &plan.update})
    *work = work->launched_at_once();
  for (BackwardPart& part : plan.backward) part.compute = part.compute.launched_at_once();
  for (ForwardPart& part : plan.late) {
    part.update = part.update.launched_at_once();
    part.compute = part.compute.launched_at_once();
  }
  return plan;
}

void note_launches(const IterationPlan& plan, const IterationTime& time, Notes& notes) {
  const LaunchedWork work = computing_work(plan);
  if (work.host == Seconds()) return;
  const Seconds waited = time.total - simulate_iteration(launched_at_once(plan)).total;
  if (waited <= 0.005 * time.total) return;
  notes.add(NoteKind::kernel_launches, {work.host, work.device, waited});
}

/// The bottleneck, or "kernel launches" where the host launches compute more slowly than the device
/// does it.
std::string what_bounds(const Prediction& prediction, const IterationPlan& plan) {
  const std::string_view bound = bound_by(prediction.time, prediction.shares_cores);
  const LaunchedWork work = computing_work(plan);
  return bound == computing_bound && work.host > work.device ? "kernel launches"
                                                             : std::string(bound);
}

/// Says why switches that add make an iteration longer, if they do.
void note_slow_switches(const Prediction& prediction, Seconds without, Notes& notes) {
  if (prediction.time.total <= 1.000001 * without) return;
  notes.add(remark(
      "switches that add make the iteration longer here than the all-reduce that they replace: "
      "the model adds up the reduction within a node, that in the switches and the gathering "
      "within the node, which a ring does at once. On two nodes switches also save no byte "
      "between nodes, and streams through them reach 95 % of the link. They gain over many nodes "
      "and for small messages"));
}

Prediction predict_one(const Network& network, const Machine& machine, const Run& run,
                       const RankSpread& spread) {
  Notes notes;
  const Placement placement{run.ranks, run.ranks_per_node};
  if (!machine.fitted) note_data_sheets(machine.cluster, run, notes);
  note_untold_links(machine, placement, notes);
  const IterationCosts costs = iteration_costs(network, machine, run, notes);
  const IterationPlan plan = costs.plan({}, Bound::value);
  Prediction prediction;
  prediction.run = run;
  prediction.contention = costs.contention.used;
  prediction.sources = costs.sources;
  prediction.time = simulate_iteration(plan);
  prediction.closed_form = closed_form(plan, prediction.closed_form_absent);
  const auto [low, high] = interval_of(costs, machine.fitted, prediction.time.total);
  prediction.low = low;
  prediction.high = high;
  add_stragglers(launched_at_once(plan), spread, prediction, notes);
  prediction.images_per_s = throughput(run.ranks, run.batch, prediction.time.total);
  prediction.shares_cores = plan.most_cores_wanted() > plan.cores;
  prediction.bound = what_bounds(prediction, plan);
  note_launches(plan, prediction.time, notes);
  const int nodes = placement.nodes();
  if (nodes > machine.cluster.nodes) {
    notes.add(NoteKind::more_nodes, {machine.cluster.nodes, machine.cluster.name}, {nodes});
  }
  if (machine.all_reduce_override == adding_switches && nodes > 1) {
    Machine without = machine;
    without.all_reduce_override.clear();
    note_slow_switches(prediction, predict_one(network, without, run, spread).time.total, notes);
  }
  prediction.notes = notes.all();
  return prediction;
}

double images_per_s_alone(const Network& network, const Machine& machine, const Run& run) {
  Notes notes;
  const IterationPlan plan = iteration_costs(network, machine, run, notes).plan({}, Bound::value);
  return throughput(1, run.batch, simulate_iteration(plan).total);
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

QuantityInterval joint_interval(std::size_t inputs,
                                const std::vector<std::pair<std::size_t, std::size_t>>& pairs,
                                double deviations, const OfInputs& quantity) {
  EXPECT(deviations > 0);
  const Interpolated of(inputs, pairs, quantity);
  const double value = of.at_value();
  if (inputs == 0) return {value, value};
  if (inputs == 1) {
    const double end = deviations_of_90 / deviations;
    const double low = of.at({-end});
    const double high = of.at({end});
    return {std::min({low, high, value}), std::max({low, high, value})};
  }
  std::vector<double> values = values_on_lattice(of, inputs, deviations);
  const double low = quantile_of(values, 0.05);
  return {std::min(low, value), std::max(quantile_of(values, 0.95), value)};
}

std::string_view bound_by(const IterationTime& time, bool shares_cores) {
  const bool waits = time.io > 0.01 * time.total;
  const Seconds compute = time.forward + time.backward;
  if (waits && (!shares_cores || time.io > compute || time.load > compute)) return "input";
  const std::array<std::pair<Seconds, std::string_view>, 4> work{
      {{compute, computing_bound},
       {time.exposed_comm + time.hidden_comm, "communication"},
       {time.update, "update"},
       {time.h2d, "host-to-device copy"}}};
  return std::ranges::max_element(work, {}, &std::pair<Seconds, std::string_view>::first)->second;
}

std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks) {
  return predict(network, machine, run, ranks, RankSpread{});
}

std::vector<Prediction> predict(const Network& network, const Machine& machine, const Run& run,
                                std::span<const int> ranks, const RankSpread& spread) {
  const auto with_ranks = [&](int count, int servers) {
    Run one = run;
    one.ranks = count;
    one.settings.servers = servers;
    check(one);
    return one;
  };
  const Network running = as_run(network, run);
  std::vector<Prediction> predictions;
  for (const int count : ranks) {
    predictions.push_back(
        predict_one(running, machine, with_ranks(count, run.settings.servers), spread));
  }
  // After the others, whose errors name messages too; one rank exchanges nothing.
  const int any = 0;
  const double alone = images_per_s_alone(running, machine, with_ranks(1, any));
  for (Prediction& prediction : predictions) {
    prediction.speedup = prediction.images_per_s / alone;
    prediction.efficiency = scaling_efficiency(prediction.speedup, prediction.run.ranks);
  }
  return predictions;
}

}  // namespace dlscale::model
