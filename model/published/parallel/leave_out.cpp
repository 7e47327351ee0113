#include "model/published/parallel/leave_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <compare>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/pipeline/makespans.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "model/published/parallel/fit.hpp"
#include "model/published/parallel/measured_seconds.hpp"
#include "model/published/parallel/predictor.hpp"
#include "model/published/parallel/training.hpp"

namespace dlscale::model::parallel_time {
namespace {

using cases::ScalingCase;

constexpr std::size_t least_sets = 2;

/// A measured training that fits may see.
struct Known {
  ParallelTraining training;
  std::optional<Makespans> makespans = {};  ///< of its pipeline, if that is simulated
  double seconds = 1;
  std::string set;
  std::string network;
};

/// The trainings that a fit has not seen: nothing, a set, or a network of it.
struct Without {
  std::string set = {};
  std::string network = {};
  auto operator<=>(const Without&) const = default;
};

bool sees(const Without& without, const Known& known) {
  return known.set != without.set || (!without.network.empty() && known.network != without.network);
}

/// Trainings to fit to; counts the others in `made`.
std::vector<Known> known_of(std::span<const ScalingCase> trainings,
                            std::span<const cases::Outcome> outcomes,
                            const DeviceCatalogue& devices, const ParallelTimeFile& from,
                            ParallelFit& made) {
  EXPECT(trainings.size() == outcomes.size());
  std::vector<Known> all;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    const ScalingCase& one = trainings[i];
    if (!outcomes[i].measured) {
      ++made.not_measured;
      continue;
    }
    try {
      ParallelTraining read = parallel_training(one, devices, from);
      if (outcomes[i].quality != "A" || !read.is_recompute_known || waits_for_memory(from, read)) {
        ++made.not_fitted;
        continue;
      }
      std::optional<Makespans> makespans;
      if (is_simulated(read.plan, read.schedule)) {
        makespans = makespans_of(read.plan, read.schedule);
      }
      all.push_back({std::move(read), std::move(makespans),
                     measured_seconds(one, *outcomes[i].measured), one.set, one.network.name});
      ++made.sets[one.set];
    } catch (const ConfigError&) {
      ++made.not_covered;
    }
  }
  return all;
}

void expect_enough(const ParallelFit& made) {
  if (made.sets.size() >= least_sets) return;
  std::vector<std::string> names;
  for (const auto& [set, count] : made.sets) names.push_back(set);
  throw ConfigError(fmt::format(
      "there are measured trainings of quality A beyond data parallelism of {} sets ({}), and at "
      "least {} are needed: each is predicted by a fit without it. Name files with more sets.",
      names.size(), fmt::join(names, ", "), least_sets));
}

std::vector<Without> all_fits(const std::vector<Known>& known) {
  std::set<Without> all{{}};
  std::map<std::string, std::set<std::string>> networks;
  for (const Known& one : known) networks[one.set].insert(one.network);
  for (const auto& [set, names] : networks) {
    all.insert({set, {}});
    if (names.size() < 2) continue;
    for (const std::string& name : names) all.insert({set, name});
  }
  return {all.begin(), all.end()};
}

TimeConstants fit_without(const Without& without, const std::vector<Known>& known,
                          const ParallelTimeFile& from) {
  std::map<std::string, double> seen;
  for (const Known& one : known) {
    if (sees(without, one)) ++seen[one.set];
  }
  std::vector<Observed> observed;
  for (const Known& one : known) {
    if (!sees(without, one)) continue;
    observed.push_back({&one.training, one.seconds, 1 / seen.at(one.set),
                        one.makespans ? &*one.makespans : nullptr});
  }
  return fit_constants(observed, from);
}

using Fits = std::map<Without, TimeConstants>;

Fits make_fits(const std::vector<Known>& known, const ParallelTimeFile& from,
               const Progress& progress) {
  const std::vector<Without> all = all_fits(known);
  std::vector<TimeConstants> found(all.size());
  std::mutex mutex;
  std::size_t done = 0;
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const auto work = [&](std::size_t first) {
    for (std::size_t i = first; i < all.size(); i += threads) {
      found[i] = fit_without(all[i], known, from);
      const std::scoped_lock lock(mutex);
      if (progress) progress(++done, all.size());
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < threads; ++i) others.emplace_back(work, i);
    work(0);
  }
  Fits fits;
  for (std::size_t i = 0; i < all.size(); ++i) fits.emplace(all[i], found[i]);
  return fits;
}

/// Values of the fitted constants, with the least and the most of all fits that leave a set out.
void find_bounds(ParallelFit& made) {
  for (const TimeConstantKey& key : fitted_time_constants()) {
    FittedConstant& fitted = made.file.fitted.find(key.key)->second;
    fitted.value = fitted.low = fitted.high = made.file.constants.*key.value;
    for (const auto& [set, constants] : made.file.without) {
      fitted.low = std::min(fitted.low, constants.*key.value);
      fitted.high = std::max(fitted.high, constants.*key.value);
    }
  }
}

/// Predictions of the trainings of a network by the fit without it.
void predict_other_networks(std::span<const ScalingCase> trainings, const DeviceCatalogue& devices,
                            const Fits& fits, ParallelFit& made) {
  ParallelTimeFile file = made.file;
  file.without.clear();
  for (const auto& [without, constants] : fits) {
    if (without.network.empty()) continue;
    file.constants = constants;
    std::vector<ScalingCase> asked;
    std::ranges::copy_if(trainings, std::back_inserter(asked), [&](const ScalingCase& one) {
      return one.set == without.set && one.network.name == without.network;
    });
    std::ranges::move(predict(file, devices, asked), std::back_inserter(made.other_networks));
  }
}

}  // namespace

ParallelFit fit_parallel(std::span<const ScalingCase> trainings,
                         std::span<const cases::Outcome> outcomes, const DeviceCatalogue& devices,
                         const ParallelTimeFile& from, const Progress& progress) {
  ParallelFit made;
  made.file = from;
  made.file.without.clear();
  const std::vector<Known> known = known_of(trainings, outcomes, devices, from, made);
  expect_enough(made);
  const Fits fits = make_fits(known, from, progress);
  made.file.constants = fits.at({});
  for (const auto& [set, count] : made.sets) made.file.without.emplace(set, fits.at({set, {}}));
  find_bounds(made);
  predict_other_networks(trainings, devices, fits, made);
  return made;
}

}  // namespace dlscale::model::parallel_time
