#include "model/published/cold/leave_out.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <variant>

#include "core/base/error.hpp"
#include "model/fits/piecewise.hpp"
#include "model/published/cold/fit.hpp"
#include "model/published/cold/interval.hpp"
#include "model/published/cold/step.hpp"
#include "model/published/cold/training.hpp"
#include "model/roofline/sheet/ways.hpp"

namespace dlscale::model::cold {
namespace {

using cases::ScalingCase;
using sheet::KernelConstants;

/// The least number of sets: without one, and without another for its errors, one must remain.
constexpr std::size_t least_sets = 3;

/// A measured training on one GPU.
struct Known {
  ColdTraining training;
  Seconds measured;
  std::string set;
};

/// Trainings that a fit has not seen.
struct Without {
  std::string set = {};
  std::string other_set = {};
  std::string architecture = {};
  auto operator<=>(const Without&) const = default;
};

bool sees(const Without& without, const Known& known) {
  return known.set != without.set && known.set != without.other_set &&
         known.training.architecture != without.architecture;
}

Without leaving_out(const std::string& set, const std::string& other = {}) {
  return {std::min(set, other), std::max(set, other), {}};
}

Seconds measured_iteration(const ScalingCase& training, const cases::Measured& measured) {
  EXPECT(measured.unit != cases::CaseUnit::time_s);
  const double value = measured.values.at(0);
  return measured.unit == cases::CaseUnit::iteration_s
             ? Seconds(value)
             : training.global_batch / cases::PerSecond(value);
}

/// Trainings to fit to; counts the others in `made`.
std::vector<Known> known_of(std::span<const ScalingCase> trainings,
                            std::span<const cases::Outcome> outcomes,
                            const scaling::FactSources& sources, ColdFit& made) {
  EXPECT(trainings.size() == outcomes.size());
  const std::vector<ScalingCase> whole = with_micro_batches(trainings);
  NetworkFiles networks;
  std::vector<Known> all;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    if (whole[i].gpus != 1) continue;
    if (!outcomes[i].measured) {
      ++made.not_measured;
      continue;
    }
    auto found = cold_training(whole[i], sources, networks);
    if (ColdTraining* training = std::get_if<ColdTraining>(&found)) {
      all.push_back({std::move(*training), measured_iteration(whole[i], *outcomes[i].measured),
                     whole[i].set});
      ++made.sets[whole[i].set];
    } else {
      ++made.not_covered;
    }
  }
  return all;
}

void expect_enough(const ColdFit& made) {
  if (made.sets.size() >= least_sets) return;
  std::vector<std::string> names;
  for (const auto& [set, count] : made.sets) names.push_back(set);
  throw ConfigError(fmt::format(
      "there are measured trainings on one GPU of {} sets ({}), and at least {} are needed: each "
      "is predicted by a fit without it, and how wrong that is by one without another, too. Name a "
      "file with more sets.",
      names.size(), fmt::join(names, ", "), least_sets));
}

std::vector<Without> all_fits(const std::vector<Known>& known, const ColdFit& made) {
  std::vector<Without> all{{}};
  for (auto set = made.sets.begin(); set != made.sets.end(); ++set) {
    all.push_back(leaving_out(set->first));
    for (auto other = std::next(set); other != made.sets.end(); ++other) {
      all.push_back(leaving_out(set->first, other->first));
    }
  }
  for (const Known& one : known) all.push_back({{}, {}, one.training.architecture});
  std::ranges::sort(all);
  const auto repeated = std::ranges::unique(all);
  all.erase(repeated.begin(), repeated.end());
  return all;
}

using Fits = std::map<Without, KernelConstants>;

/// Makes every `stride`-th fit from the `first` on, with work counted by itself: threads share
/// none.
class Fitter {
 public:
  Fitter(const std::vector<Known>& known, const ColdFit& made, const sheet::KernelFile& from)
      : known_(&known), made_(&made), from_(&from) {
    for (const Known& one : known) {
      times_.push_back(std::make_unique<OneGpuTimes>(one.training));
    }
  }

  [[nodiscard]] KernelConstants fit(const Without& without) const {
    std::vector<Observed> observed;
    for (std::size_t i = 0; i < known_->size(); ++i) {
      const Known& one = (*known_)[i];
      if (!sees(without, one)) continue;
      const auto count = static_cast<double>(made_->sets.at(one.set));
      observed.push_back({times_[i].get(), one.measured, std::sqrt(1 / count)});
    }
    return fit_constants(observed, *from_);
  }

  /// Logarithm of measured over predicted time.
  [[nodiscard]] double log_ratio(std::size_t i, const KernelConstants& constants) const {
    return std::log((*known_)[i].measured / times_[i]->step(constants).total());
  }

 private:
  const std::vector<Known>* known_;
  const ColdFit* made_;
  const sheet::KernelFile* from_;
  std::vector<std::unique_ptr<OneGpuTimes>> times_;
};

Fits make_fits(const std::vector<Known>& known, const ColdFit& made, const sheet::KernelFile& from,
               const Progress& progress) {
  const std::vector<Without> all = all_fits(known, made);
  std::vector<KernelConstants> found(all.size());
  std::mutex mutex;
  std::size_t done = 0;
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  const auto work = [&](std::size_t first) {
    const Fitter fitter(known, made, from);
    for (std::size_t i = first; i < all.size(); i += threads) {
      found[i] = fitter.fit(all[i]);
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

/// Sets the interval of the fit without `left` by errors of fits that have seen neither it nor the
/// sets that they are judged on.
void find_interval(const std::vector<Known>& known, const ColdFit& made, const Fits& fits,
                   const Fitter& fitter, const std::string& left, KernelConstants& constants) {
  std::vector<ColdError> errors;
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Known& one = known[i];
    if (one.set == left) continue;
    const auto count = static_cast<double>(made.sets.at(one.set));
    errors.push_back({fitter.log_ratio(i, fits.at(leaving_out(one.set, left))), 1 / count,
                      element_bytes(one.training.run.dtype) == 2,
                      one.training.network->has_attention(),
                      sheet::age_of(one.training.traits, made.file.constants) > 0});
  }
  fit_interval(errors, constants);
}

/// Values and 90 % intervals of the fitted constants, by their spread over the fits without a set.
void find_bounds(const Fits& fits, ColdFit& made) {
  const auto sets = static_cast<double>(made.sets.size());
  for (const sheet::ConstantKey& key : sheet::fitted_constants()) {
    double sum = 0;
    double squares = 0;
    for (const auto& [set, count] : made.sets) {
      const double value = std::log(fits.at(leaving_out(set)).*key.value);
      sum += value;
      squares += value * value;
    }
    const double variance = std::max(0.0, squares - sum * sum / sets) * (sets - 1) / sets;
    FittedConstant& fitted = made.file.fitted.find(key.key)->second;
    const double factor = std::exp(deviations_of_90 * std::sqrt(variance));
    fitted.value = made.file.constants.*key.value;
    fitted.low = fitted.value / factor;
    fitted.high = fitted.value * factor;
  }
}

/// A text in quotes, as in YAML and JSON.
std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// "{one: -2.7, …}"
std::string numbers_text(std::span<const sheet::ConstantKey> keys,
                         const KernelConstants& constants) {
  std::vector<std::string> each;
  for (const sheet::ConstantKey& key : keys) {
    each.push_back(fmt::format("{}: {:.5g}", key.key, constants.*key.value));
  }
  return fmt::format("{{{}}}", fmt::join(each, ", "));
}

}  // namespace

ColdFit fit_cold(std::span<const ScalingCase> trainings, std::span<const cases::Outcome> outcomes,
                 const scaling::FactSources& sources, const sheet::KernelFile& from,
                 const Progress& progress) {
  ColdFit made;
  made.file = from;
  made.file.without.clear();
  const std::vector<Known> known = known_of(trainings, outcomes, sources, made);
  expect_enough(made);
  const Fits fits = make_fits(known, made, from, progress);
  const Fitter fitter(known, made, from);
  made.file.constants = fits.at({});
  find_interval(known, made, fits, fitter, {}, made.file.constants);
  find_bounds(fits, made);
  for (const auto& [set, count] : made.sets) {
    KernelConstants constants = fits.at(leaving_out(set));
    find_interval(known, made, fits, fitter, set, constants);
    made.file.without.emplace(set, constants);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::string& architecture = known[i].training.architecture;
    const double log_ratio = fitter.log_ratio(i, fits.at({{}, {}, architecture}));
    made.other_gpus.push_back({architecture, std::exp(log_ratio) - 1});
  }
  return made;
}

std::string fitted_text(std::string_view file, const ColdFit& fit, std::string_view cases) {
  std::string sets = "sets:\n";
  std::string without = "without:  # fits that have not seen a set, for its own trainings\n";
  for (const auto& [set, count] : fit.sets) {
    const KernelConstants& constants = fit.file.without.at(set);
    sets += fmt::format("  - {{set: {}, trainings: {}}}\n", in_quotes(set), count);
    without += fmt::format("  - set: {}\n    fitted: {}\n    interval: {}\n", in_quotes(set),
                           numbers_text(sheet::fitted_constants(), constants),
                           numbers_text(sheet::interval_constants(), constants));
  }
  std::string fitted = "fitted:  # to published trainings on one GPU\n";
  for (const sheet::ConstantKey& key : sheet::fitted_constants()) {
    fitted +=
        fmt::format("  {}\n", sheet::fitted_text(key.key, fit.file.fitted.find(key.key)->second));
  }
  std::string interval =
      "interval:  # log(measured / predicted time) lies in [low, high] x exp(sum of terms)\n";
  for (const sheet::ConstantKey& key : sheet::interval_constants()) {
    interval += fmt::format("  {}: {:.5g}\n", key.key, fit.file.constants.*key.value);
  }
  std::string text =
      sheet::with_section(file, "cases", fmt::format("cases: [{}]\n", in_quotes(cases)));
  text = sheet::with_section(text, "sets", sets);
  text = sheet::with_section(text, "fitted", fitted);
  text = sheet::with_section(text, "interval", interval);
  return sheet::with_section(text, "without", without);
}

}  // namespace dlscale::model::cold
