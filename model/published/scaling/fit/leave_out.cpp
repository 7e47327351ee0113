#include "model/published/scaling/fit/leave_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "model/published/scaling/time/scaled_time.hpp"

namespace dlscale::model::scaling {
namespace {

/// The least relative gain for which a term is added.
constexpr double least_gain = 0.01;

using cases::CaseUnit;
using cases::Outcome;
using cases::ScalingCase;

/// The least number of sets: without one set, and without another for its errors, one must remain.
constexpr std::size_t least_sets = 3;

/// A measured training.
struct Known {
  ScalingModel model;
  std::size_t set = 0;  ///< index of its set
  Seconds measured = {};
};

/// Sets by their names in ascending order, and their trainings in the order of the file.
struct Study {
  std::vector<std::string> sets = {};
  std::vector<double> counts = {};  ///< number of trainings in each set
  std::vector<Known> known = {};
};

Seconds measured_iteration(const ScalingCase& training, const cases::Measured& measured) {
  EXPECT(measured.unit != CaseUnit::time_s);
  const double value = measured.values.at(0);
  return measured.unit == CaseUnit::iteration_s ? Seconds(value)
                                                : training.global_batch / cases::PerSecond(value);
}

/// Whether a training can be fitted to; counts the reason if not.
bool is_taken(const ScalingCase& training, const Outcome& outcome, ScalingFit& made) {
  if (!outcome.measured) {
    ++made.not_measured;
  } else if (not_covered(training)) {
    ++made.not_covered;
  } else {
    return true;
  }
  return false;
}

Study study_of(std::span<const ScalingCase> trainings, std::span<const Outcome> outcomes,
               const FactSources& sources, ScalingFit& made) {
  EXPECT(trainings.size() == outcomes.size());
  std::vector<std::size_t> taken;
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    if (!is_taken(trainings[i], outcomes[i], made)) continue;
    taken.push_back(i);
    ++made.sets[trainings[i].set];
  }
  Study study;
  std::map<std::string, std::size_t> index;
  for (const auto& [set, count] : made.sets) {
    index.emplace(set, study.sets.size());
    study.sets.push_back(set);
    study.counts.push_back(static_cast<double>(count));
  }
  for (const std::size_t i : taken) {
    study.known.push_back({ScalingModel(training_facts(trainings[i], sources)),
                           index.at(trainings[i].set),
                           measured_iteration(trainings[i], *outcomes[i].measured)});
  }
  return study;
}

void expect_enough(const Study& study) {
  if (study.sets.size() >= least_sets) return;
  throw ConfigError(fmt::format(
      "there are measured trainings of {} sets ({}), and at least {} are needed: each is predicted "
      "by a fit without it, and how wrong that is told by one without another, too. Name a file "
      "with more sets.",
      study.sets.size(), fmt::join(study.sets, ", "), least_sets));
}

constexpr auto nothing = static_cast<std::size_t>(-1);

/// The sets that a fit has not seen, ascending: none, one or two.
using Without = std::array<std::size_t, 2>;

constexpr Without with_all{nothing, nothing};

/// The key of a fit without these sets.
Without leaving_out(std::size_t set, std::size_t other = nothing) {
  return {std::min(set, other), std::max(set, other)};
}

bool sees(const Without& without, const Known& known) {
  return known.set != without[0] && known.set != without[1];
}

/// A fit to be made.
struct Wanted {
  Without without = with_all;
  Terms terms = Terms().set();
};

std::vector<Wanted> all_fits(std::size_t sets) {
  std::vector<Wanted> all{{}};
  for (std::size_t a = 0; a < sets; ++a) {
    all.push_back({leaving_out(a)});
    for (std::size_t b = a + 1; b < sets; ++b) all.push_back({leaving_out(a, b)});
  }
  return all;
}

/// The fits that are needed for a fit without `left` and for its errors.
std::vector<Wanted> fits_without(std::size_t left, std::size_t sets, const Terms& terms) {
  std::vector<Wanted> all{{leaving_out(left), terms}};
  for (std::size_t other = 0; other < sets; ++other) {
    if (other != left) all.push_back({leaving_out(left, other), terms});
  }
  return all;
}

/// Calls `work` with 0 … count − 1 on several threads. Throws the first exception after all have
/// ended.
void for_each_index(std::size_t count, std::size_t threads,
                    const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::exception_ptr problem;
  const auto work_on = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (!problem) problem = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(work_on);
    work_on();
  }
  if (problem) std::rethrow_exception(problem);
}

/// Parameters by the sets that the fit has not seen.
using Fits = std::map<Without, Parameters>;

std::vector<Observed> seen(const Study& study, const Without& without) {
  std::vector<Observed> observed;
  for (const Known& known : study.known) {
    if (!sees(without, known)) continue;
    observed.push_back({&known.model, known.measured, std::sqrt(1 / study.counts[known.set])});
  }
  return observed;
}

Parameters made(const Study& study, const Wanted& wanted, FitSettings settings) {
  settings.terms = wanted.terms;
  return fit(seen(study, wanted.without), Parameters::prior_of(wanted.terms), settings);
}

std::size_t threads_of(const FitOptions& options) {
  return options.threads > 0 ? static_cast<std::size_t>(options.threads)
                             : std::max(1U, std::thread::hardware_concurrency());
}

Fits make_fits(const Study& study, const std::vector<Wanted>& all, const FitOptions& options) {
  std::vector<Parameters> found(all.size());
  std::mutex mutex;
  std::size_t done = 0;
  for_each_index(all.size(), threads_of(options), [&](std::size_t i) {
    found[i] = made(study, all[i], options.settings);
    const std::scoped_lock lock(mutex);
    ++done;
    if (options.progress) options.progress(done, all.size());
  });
  Fits fits;
  for (std::size_t i = 0; i < all.size(); ++i) fits.emplace(all[i].without, found[i]);
  return fits;
}

FitDomain domain_of(const Study& study, const Without& without) {
  FitDomain domain;
  for (const Known& known : study.known) {
    if (sees(without, known)) domain.take(known.model.facts());
  }
  return domain;
}

/// The errors of fits at sets that they have not seen; those fits have not seen `left` either.
ErrorModel errors_without(const Study& study, const Fits& fits, std::size_t left) {
  std::vector<FitDomain> domains;  // of the fit that predicts a set
  for (std::size_t set = 0; set < study.sets.size(); ++set) {
    domains.push_back(domain_of(study, leaving_out(set, left)));
  }
  std::vector<LeftOut> left_out;
  for (const Known& known : study.known) {
    if (known.set == left) continue;
    const Parameters& parameters = fits.at(leaving_out(known.set, left));
    const bool inside = outside(known.model.facts(), domains[known.set]).empty();
    left_out.push_back({&known.model.facts(), known.model.judged(parameters), known.measured,
                        1 / study.counts[known.set], inside ? 1 : outside_stretch});
  }
  return fit_errors(left_out);
}

Fit fit_of(const Study& study, const Fits& fits, std::size_t left) {
  return {fits.at(leaving_out(left)), errors_without(study, fits, left),
          domain_of(study, leaving_out(left))};
}

/// Fits with terms chosen by the sets that each fit uses.
FittedScaling chosen_fits(const Study& study, const FitOptions& options) {
  const std::size_t sets = study.sets.size();
  std::vector<std::size_t> left{nothing};
  for (std::size_t set = 0; set < sets; ++set) left.push_back(set);
  std::vector<Terms> terms(left.size());
  for_each_index(left.size(), threads_of(options), [&](std::size_t i) {
    terms[i] = choose_terms(seen(study, leaving_out(left[i])), options.settings);
  });
  FittedScaling fitted;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const Fits fits = make_fits(study, fits_without(left[i], sets, terms[i]), options);
    Fit found = fit_of(study, fits, left[i]);
    if (left[i] == nothing) {
      fitted.all = std::move(found);
    } else {
      fitted.without.emplace(study.sets[left[i]], std::move(found));
    }
  }
  return fitted;
}

}  // namespace

Terms choose_terms(std::span<const Observed> observed, const FitSettings& settings) {
  FitSettings with = settings;
  const auto loss = [&](const Terms& terms) {
    with.terms = terms;  // the prior's term is 0 at the medians
    return fit_loss(observed, Parameters::prior_of(terms), with);
  };
  Terms chosen;
  double least = loss(chosen);
  while (!chosen.all()) {
    Terms best = chosen;
    double best_loss = least;
    for (std::size_t i = 0; i < parameter_count; ++i) {
      if (chosen[i]) continue;
      Terms more = chosen;
      more.set(i);
      const double now = loss(more);
      if (now >= best_loss) continue;
      best = more;
      best_loss = now;
    }
    if (best_loss >= (1 - least_gain) * least) break;
    chosen = best;
    least = best_loss;
  }
  return chosen;
}

ScalingFit fit_scaling(std::span<const ScalingCase> trainings, std::span<const Outcome> outcomes,
                       const FactSources& sources, const FitOptions& options) {
  ScalingFit made;
  const Study study = study_of(trainings, outcomes, sources, made);
  expect_enough(study);
  const std::size_t sets = study.sets.size();
  if (options.choose_terms) {
    made.fitted = chosen_fits(study, options);
    return made;
  }
  const Fits fits = make_fits(study, all_fits(sets), options);
  made.fitted.all = fit_of(study, fits, nothing);
  for (std::size_t set = 0; set < sets; ++set) {
    made.fitted.without.emplace(study.sets[set], fit_of(study, fits, set));
  }
  return made;
}

}  // namespace dlscale::model::scaling
