#include "model/sgd_iter/measured_level_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/text/quantity_text.hpp"
#include "model/fits/increasing_root.hpp"
#include "model/fits/levenberg.hpp"
#include "model/fits/piecewise.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/uncertain_iteration.hpp"

namespace dlscale::model {
namespace {

/// Standard deviation of ln of a measured iteration. [a judgement: see repetition of
/// published/scaling/fit/interval.cpp]
constexpr double repetition = 0.005;
/// The most |ln a|, and the standard deviation of which it is 90 %.
const double most_added = std::log(4.0);
const double widest_added = most_added / deviations_of_90;
constexpr double likely = 2;          ///< standard deviations that one point may move computing
constexpr double least_added = 0.1;   ///< of that deviation
constexpr double most_changed = 1e3;  ///< factor on computing, or on an iteration
constexpr double close = 1e-9;        ///< of ln T, for the factors that meet a point
/// The same where looks for messages shift against the iteration, so that its time leaps.
constexpr double close_in_leaps = 2e-3;
constexpr double agreeing = 1e-9;  ///< relative: a point as predicted
constexpr double contradicting = 0.05;
constexpr double faster_together = 0.02;

/// The logarithms of the factors on computing and on what several ranks add.
struct LogFactors {
  double computing = 0;
  double added = 0;
};

/// A measured point, and the costs of its iteration by data sheets.
struct Known {
  MeasuredPoint point;
  std::unique_ptr<Notes> notes;  ///< which the costs refer to
  IterationCosts costs;

  [[nodiscard]] Seconds total(const LogFactors& factors) {
    costs.computing = std::exp(factors.computing);
    costs.added = std::exp(factors.added);
    return iteration_total(costs.plan({}, Bound::value));
  }
  /// ln(T / measured)
  [[nodiscard]] double error(const LogFactors& factors) {
    return std::log(total(factors) / point.iteration);
  }
};

/// Computing of one rank by data sheets.
Seconds computing_of(const IterationCosts& costs) {
  Seconds sum = costs.update.compute.value;
  for (const StepCost& step : costs.forward) sum += step.compute.value;
  for (const auto& part : costs.backward) {
    for (const StepCost& step : part) sum += step.compute.value;
  }
  return sum;
}

std::string on_ranks(int ranks) {
  return ranks == 1 ? "1 rank" : fmt::format("{} ranks", ranks);
}

class LevelFit {
 public:
  LevelFit(const Network& network, const Machine& machine, const Run& run,
           std::vector<MeasuredPoint> points);
  MeasuredLevel find();

 private:
  struct Deviations {
    double computing = 0;
    double added = 0;
  };
  [[nodiscard]] bool agrees();
  [[nodiscard]] bool has_one() const { return known_.front().point.ranks == 1; }
  void find_deviations();
  void meet_input();
  void meet_one();
  [[nodiscard]] bool meet_other();
  void fit();
  [[nodiscard]] MeasuredLevel::Rest rest_of(Known& known);
  void check_possible(Known& known) const;
  [[nodiscard]] Seconds longer_in_node();
  [[nodiscard]] std::string doubt(const MeasuredLevel& level);
  [[nodiscard]] std::string faster_in_company() const;

  Run run_;
  std::vector<Known> known_;  ///< by ascending ranks
  LogFactors found_;
  double loading_ = 0;  ///< logarithm of the factor on input
  double close_ = close;
  Deviations deviations_;
  TimeFactors computing_range_;
};

LevelFit::LevelFit(const Network& network, const Machine& machine, const Run& run,
                   std::vector<MeasuredPoint> points)
    : run_(run) {
  EXPECT(!points.empty() && !machine.fitted && !machine.level);
  std::ranges::sort(points, {}, &MeasuredPoint::ranks);
  for (std::size_t i = 0; i < points.size(); ++i) {
    EXPECT(points[i].iteration > Seconds());
    EXPECT(i == 0 || points[i].ranks > points[i - 1].ranks);
    Run there = run;
    there.ranks = points[i].ranks;
    there.batch = points[i].batch;
    check(there);
    auto notes = std::make_unique<Notes>();
    IterationCosts costs = iteration_costs(network, machine, there, *notes);
    known_.push_back({points[i], std::move(notes), std::move(costs)});
  }
  run_.batch = known_.front().point.batch;
  const bool packs =
      std::ranges::any_of(known_, [](const Known& known) { return known.costs.packed != nullptr; });
  if (packs) close_ = close_in_leaps;
}

bool LevelFit::agrees() {
  return std::ranges::all_of(known_,
                             [](Known& known) { return std::abs(known.error({})) < agreeing; });
}

/// Takes them from the interval at the point with the most ranks.
void LevelFit::find_deviations() {
  const IterationCosts& costs = known_.back().costs;
  const UncertainIteration iteration(costs, false,
                                     simulate_iteration(costs.plan({}, Bound::value)));
  const auto deviation = [](const TimeFactors& factors) {
    return std::log(factors.high / factors.low) / (2 * deviations_of_90);
  };
  const SheetErrors& errors = iteration.by_sheets().value();
  computing_range_ = errors.computing;
  deviations_.computing = std::max(deviation(errors.computing), repetition);
  constexpr double step = 0.1;
  const double share = (known_.back().error({0, step}) - known_.back().error({})) / step;
  const double of_added = share > 0 ? deviation(errors.scaling) / share : widest_added;
  deviations_.added = std::clamp(of_added, least_added, widest_added);
}

/// Moves the time of input within its interval where it bounds an iteration, since a decoder is
/// assumed: the first point either way, and others to quicker input alone.
void LevelFit::meet_input() {
  for (Known& known : known_) {
    const Estimate<Seconds> load = known.costs.load;
    if (load.value <= Seconds()) continue;
    const auto error_at = [&](double x) {
      known.costs.load.value = std::exp(x) * load.value;
      return known.error({});
    };
    const double least = std::log(load.low / load.value);
    const bool is_first = &known == &known_.front();
    const double most = is_first ? std::log(load.high / load.value) : loading_;
    const double now = error_at(loading_);
    const bool bounds = error_at(least) < now - agreeing;
    if (bounds && (is_first || now > 0)) {
      loading_ = increasing_root(error_at, least, most, close_);
    }
    known.costs.load = load;
  }
  for (Known& known : known_) {
    known.costs.load = Estimate<Seconds>::exact(std::exp(loading_) * known.costs.load.value);
  }
}

/// Finds the factor on computing by which the first point is met.
void LevelFit::meet_one() {
  Known& one = known_.front();
  if (std::abs(one.error(found_)) <= 2 * close_) return;  // by its input, which hides computing
  const double whole = std::log(one.point.iteration / computing_of(one.costs));
  const double least = std::min(-std::log(most_changed), whole - 1);
  found_.computing = increasing_root(
      [&](double x) {
        return one.error({x, found_.added});
      },
      least, whole, close_);
}

/// Finds the factor on what ranks add by which the other point is met, if there is one.
bool LevelFit::meet_other() {
  if (known_.size() != 2 || !has_one()) return false;
  const auto error = [&](double y) { return known_.back().error({found_.computing, y}); };
  if (error(-most_added) > 0 || error(most_added) < 0) return false;
  found_.added = increasing_root(error, -most_added, most_added, close_);
  return true;
}

/// Least squares from the model as it is.
void LevelFit::fit() {
  const bool by_one = has_one();
  if ((by_one && known_.size() == 1) || meet_other()) return;
  const auto at = [&](const std::vector<double>& u) {
    LogFactors factors = found_;
    factors.added = std::clamp(u.front(), -most_added, most_added);
    if (!by_one) factors.computing = u.back();
    return factors;
  };
  const auto residuals = [&](const std::vector<double>& u) {
    const LogFactors factors = at(u);
    std::vector<double> all{u.front() / deviations_.added};
    if (!by_one) all.push_back(factors.computing / deviations_.computing);
    for (Known& known : known_) {
      if (known.point.ranks > 1) all.push_back(known.error(factors) / repetition);
    }
    return all;
  };
  const bool leaps = close_ > close;
  const LeastSquares settings{.rounds = leaps ? 4 : 12,
                              .step = leaps ? 0.05 : 1e-3,
                              .longest = 0.7,
                              .gain = leaps ? 0.01 : 1e-6};
  found_ = at(least_squares(residuals, std::vector<double>(by_one ? 1 : 2), settings));
  if (known_.size() > 1) return;
  meet_one();
  const double most = likely * deviations_.computing;
  found_.computing = std::clamp(found_.computing, -most, most);
}

/// Throws where even quick computing and messages take longer than the point.
void LevelFit::check_possible(Known& known) const {
  const LogFactors quickest{-std::log(most_changed), -most_added};
  const Seconds least = known.total(quickest);
  const Seconds usual = known.total({});
  if (known.point.iteration > most_changed * usual) {
    throw ConfigError(fmt::format(
        "the measured iteration of {} on {} takes {:.2g} times as long as predicted, which no "
        "interval reaches. Check its unit, batch and precision.",
        to_text(known.point.iteration), on_ranks(known.point.ranks),
        known.point.iteration / usual));
  }
  if (least <= known.point.iteration) return;
  throw ConfigError(
      fmt::format("the measured iteration of {} on {} cannot be: input or messages alone take {} "
                  "here. Check the point, or state the input of the cluster.",
                  to_text(known.point.iteration), on_ranks(known.point.ranks), to_text(least)));
}

/// The rest of a point: less of what ranks add where that is enough, then a factor on all.
MeasuredLevel::Rest LevelFit::rest_of(Known& known) {
  MeasuredLevel::Rest rest{known.point.ranks, known.point.batch, 0, 0, known.point.iteration};
  const auto error_at = [&](double added) {
    return known.error({found_.computing, found_.added + added});
  };
  const double error = error_at(0);
  if (std::abs(error) < agreeing) return rest;
  if (error > close_ && known.point.ranks > 1) {
    constexpr double nothing = -12;  // e^-12 of it
    rest.added = increasing_root(error_at, nothing, 0, close_);
  }
  rest.left = -error_at(rest.added);
  return rest;
}

/// Names two points of which the larger is faster by a rank than the smaller; empty if none is.
std::string LevelFit::faster_in_company() const {
  for (std::size_t i = 1; i < known_.size(); ++i) {
    const MeasuredPoint& few = known_[i - 1].point;
    const MeasuredPoint& many = known_[i].point;
    const double rate = (many.batch / many.iteration.si()) / (few.batch / few.iteration.si());
    if (few.batch != many.batch || rate <= 1 + faster_together) continue;
    return fmt::format(
        "each of {} ranks is faster than on {} in your points, by {:.2g} %: check both points",
        many.ranks, on_ranks(few.ranks), 100 * (rate - 1));
  }
  return "";
}

std::string LevelFit::doubt(const MeasuredLevel& level) {
  if (std::string faster = faster_in_company(); !faster.empty()) return faster;
  const auto missed = [&](Known& known) { return std::abs(known.error(found_)); };
  Known& worst = *std::ranges::max_element(known_, {}, missed);
  if (missed(worst) > contradicting) {
    return fmt::format(
        "your points contradict the model: {} took {}, and {} would fit the rest, with messages "
        "{:.2g} times as long as predicted; intervals between points are wider for it",
        on_ranks(worst.point.ranks), to_text(worst.point.iteration), to_text(worst.total(found_)),
        level.added);
  }
  if (level.computing < computing_range_.low || level.computing > computing_range_.high) {
    return fmt::format(
        "your points say that computing takes {:.3g} times what is predicted without them, whose "
        "interval is {:.2f} to {:.2f} times: check batch, data type and network",
        level.computing, computing_range_.low, computing_range_.high);
  }
  if (std::abs(found_.added) > std::min(deviations_of_90 * deviations_.added, std::log(2.0))) {
    return fmt::format(
        "your points say that messages take {:.2g} times what is predicted without them: check the "
        "cluster's links",
        level.added);
  }
  return "";
}

/// Time by which the largest point exceeds the model, if all points are on one node.
Seconds LevelFit::longer_in_node() {
  Known& largest = known_.back();
  if (largest.point.ranks == 1 || largest.point.ranks > run_.ranks_per_node) return {};
  return std::max(Seconds(), largest.point.iteration - largest.total({found_.computing, 0}));
}

MeasuredLevel LevelFit::find() {
  MeasuredLevel level;
  level.run = run_;
  find_deviations();
  if (!agrees()) {
    meet_input();
    for (Known& known : known_) check_possible(known);
    if (has_one()) meet_one();
    fit();
  }
  level.computing = std::exp(found_.computing);
  level.added = std::exp(found_.added);
  level.loading = std::exp(loading_);
  for (Known& known : known_) {
    level.rest.push_back(rest_of(known));
    level.miss = std::max(level.miss, std::abs(known.error(found_)));
  }
  level.in_node = longer_in_node();
  level.doubt = doubt(level);
  return level;
}

}  // namespace

MeasuredLevel measured_level(const Network& network, const Machine& machine, const Run& run,
                             std::vector<MeasuredPoint> points) {
  return LevelFit(as_run(network, run), machine, run, std::move(points)).find();
}

}  // namespace dlscale::model
