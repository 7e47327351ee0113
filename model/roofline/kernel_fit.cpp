#include "model/roofline/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/error.hpp"
#include "core/statistics.hpp"
#include "model/roofline/least_squares.hpp"
#include "model/roofline/split.hpp"

namespace dlscale::model {
namespace {

using Samples = std::vector<const KernelSample*>;

constexpr int least_kernels = 3;
constexpr int folds = 10;
constexpr std::uint64_t fold_salt = 1;

/// Samples as what their time is made of.
struct Timed {
  std::vector<KernelTerms> terms;
  std::vector<double> times;
};

Timed timed(const Samples& samples, Bytes near) {
  Timed result;
  result.terms.reserve(samples.size());
  result.times.reserve(samples.size());
  for (const KernelSample* sample : samples) {
    result.terms.push_back(terms_of(sample->what, near));
    result.times.push_back(sample->time.si());
  }
  return result;
}

enum class Sides { both, greater };

/// One equation a sample, divided by its time: residuals are relative errors.
Equations equations(const Timed& timed, const Amounts& parameters, Sides sides) {
  Equations result{.unknowns = term_count, .coefficients = {}, .values = {}};
  for (std::size_t i = 0; i < timed.terms.size(); ++i) {
    Amounts row = timed.terms[i].always;
    for (const StageTerms& stage : timed.terms[i].stages) {
      const double compute = dot(stage.compute, parameters);
      const double memory = dot(stage.memory, parameters);
      for (std::size_t j = 0; j < term_count; ++j) {
        if (sides == Sides::both || compute >= memory) row.at(j) += stage.compute.at(j);
        if (sides == Sides::both || compute < memory) row.at(j) += stage.memory.at(j);
      }
    }
    for (double& amount : row) amount /= timed.times[i];
    result.add(row, 1);
  }
  return result;
}

/// Parameters of terms that do not occur keep their value, so that their side may count again.
void update(const Equations& equations, Amounts& parameters) {
  const std::vector<double> fitted = robust_non_negative(equations);
  for (std::size_t j = 0; j < term_count; ++j) {
    bool occurs = false;
    for (std::size_t i = 0; i < equations.size(); ++i) occurs |= equations.row(i)[j] > 0;
    if (occurs) parameters.at(j) = fitted[j];
  }
}

/// Σ min(|r|, 0.5): what a wild sample adds is bounded.
double loss(const Timed& timed, const Amounts& parameters) {
  double sum = 0;
  for (std::size_t i = 0; i < timed.terms.size(); ++i) {
    const double ratio = time_of(timed.terms[i], parameters).si() / timed.times[i];
    sum += std::min(std::abs(ratio - 1), 0.5);
  }
  return sum;
}

struct Fit {
  Amounts parameters{};
  Bytes near;
  double loss = std::numeric_limits<double>::infinity();
};

Fit fit_at(const Samples& samples, Bytes near) {
  constexpr int turns = 15;
  const Timed measured = timed(samples, near);
  Amounts parameters{};
  update(equations(measured, parameters, Sides::both), parameters);
  Fit best{parameters, near, loss(measured, parameters)};
  for (int turn = 0; turn < turns; ++turn) {
    const Amounts before = parameters;
    update(equations(measured, parameters, Sides::greater), parameters);
    const double reached = loss(measured, parameters);
    if (reached < best.loss) best = {parameters, near, reached};
    if (parameters == before) break;
  }
  return best;
}

Fit fit(const Samples& samples) {
  Fit best;
  for (const double kibibytes : {256.0, 1024.0, 4096.0, 16384.0}) {
    Fit found = fit_at(samples, Bytes(1024 * kibibytes));
    if (found.loss < best.loss) best = found;
  }
  return best;
}

std::set<std::string> kernels_of(const Samples& samples) {
  std::set<std::string> kernels;
  for (const KernelSample* sample : samples) kernels.insert(sample->what.kernel);
  return kernels;
}

/// measured / predicted of each sample by a fit to the shapes of other folds.
std::vector<double> left_out_ratios(const Samples& samples, Bytes near) {
  std::vector<double> ratios;
  for (int fold = 0; fold < folds; ++fold) {
    Samples inside;
    Samples outside;
    for (const KernelSample* sample : samples) {
      const bool out = fold_of(sample->what.kernel, folds, fold_salt) == fold;
      (out ? outside : inside).push_back(sample);
    }
    if (outside.empty() || inside.empty()) continue;
    const Fit found = fit_at(inside, near);
    for (const KernelSample* sample : outside) {
      const Seconds predicted = time_of(terms_of(sample->what, near), found.parameters);
      if (predicted.si() > 0) ratios.push_back(sample->time / predicted);
    }
  }
  return ratios;
}

/// Order statistics that leave (1 - 0.95) / 2 of what comes next outside on each side, as far as
/// there are enough; else the extremes [V. Vovk et al., Algorithmic Learning in a Random World,
/// 2005, section 2.2].
void set_interval(std::vector<double> ratios, KernelModel& model) {
  if (ratios.empty()) return;
  std::ranges::sort(ratios);
  const auto n = static_cast<double>(ratios.size());
  const auto rank = std::min(n, std::ceil(0.975 * (n + 1)));
  const auto high = static_cast<std::size_t>(rank) - 1;
  model.ratio_high = std::max(1.0, ratios[high]);
  model.ratio_low = std::min(1.0, ratios[ratios.size() - 1 - high]);
}

void set_ranges(const Samples& samples, KernelModel& model) {
  model.least = model.greatest = sizes_of(samples.front()->what);
  for (const KernelSample* sample : samples) {
    const CaseSizes sizes = sizes_of(sample->what);
    for (std::size_t i = 0; i < sizes.values.size(); ++i) {
      double& least = model.least.values.at(i);
      double& greatest = model.greatest.values.at(i);
      least = std::min(least, sizes.values.at(i));
      greatest = std::max(greatest, sizes.values.at(i));
    }
  }
}

/// The highest rates reached by any way with as many threads.
Roofline highest_rates(std::span<const KernelSample> samples, int threads) {
  Roofline roofline;
  for (const KernelSample& sample : samples) {
    if (sample.what.way.threads != threads) continue;
    roofline.peak = std::max(roofline.peak, sample.what.work.flops() / sample.time);
    roofline.bandwidth = std::max(roofline.bandwidth, sample.what.work.bytes() / sample.time);
  }
  return roofline;
}

KernelModel make_model(const Way& way, const Samples& samples, const Roofline& naive) {
  const Fit found = fit(samples);
  KernelModel model;
  model.way = way;
  model.parameters = found.parameters;
  model.near = found.near;
  set_interval(left_out_ratios(samples, found.near), model);
  set_ranges(samples, model);
  model.naive = naive;
  model.kernels = static_cast<int>(kernels_of(samples).size());
  model.samples = static_cast<int>(samples.size());
  return model;
}

}  // namespace

KernelModels fit_kernels(std::span<const KernelSample> samples, std::vector<std::string>& skipped) {
  std::map<Way, Samples> by_way;
  for (const KernelSample& sample : samples) by_way[sample.what.way].push_back(&sample);
  KernelModels models;
  for (const auto& [way, own] : by_way) {
    if (static_cast<int>(kernels_of(own).size()) < least_kernels) {
      skipped.push_back(way.algorithm() + " " + std::string(pass_name(way.pass)));
      continue;
    }
    models.models.push_back(make_model(way, own, highest_rates(samples, way.threads)));
  }
  return models;
}

}  // namespace dlscale::model
