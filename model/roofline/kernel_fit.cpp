#include "model/roofline/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
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
constexpr double kin_importance = 0.2;

/// What a fit is made to: a way's own samples, and those of its kin.
struct Evidence {
  Samples own;
  Samples kin;
};

/// Those for which `holds`.
template <class Holds>
Evidence selected(const Evidence& evidence, const Holds& holds) {
  Evidence result;
  std::ranges::copy_if(evidence.own, std::back_inserter(result.own), holds);
  std::ranges::copy_if(evidence.kin, std::back_inserter(result.kin), holds);
  return result;
}

/// Samples as what their time is made of.
struct Timed {
  std::vector<KernelTerms> terms;
  std::vector<double> times;
  std::vector<double> importance;
};

Timed timed(const Evidence& evidence, Bytes near) {
  Timed result;
  const auto add = [&](const Samples& samples, double importance) {
    for (const KernelSample* sample : samples) {
      result.terms.push_back(terms_of(sample->what, near));
      result.times.push_back(sample->time.si());
      result.importance.push_back(importance);
    }
  };
  add(evidence.own, 1);
  add(evidence.kin, kin_importance);
  return result;
}

enum class Sides { both, greater };

/// One row a sample, divided by `scales`.
std::vector<Amounts> rows_of(const Timed& timed, const std::vector<double>& scales,
                             const Amounts& parameters, Sides sides) {
  std::vector<Amounts> rows;
  rows.reserve(timed.terms.size());
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
    for (double& amount : row) amount /= scales[i];
    rows.push_back(row);
  }
  return rows;
}

/// √(measured · predicted): residuals divided by it are 2 sinh(r / 2) for a logarithm r of
/// predicted / measured, and so the same for times too long and too short by one factor. By the
/// measured time alone, times that noise has made short would count most. Where nothing is
/// predicted yet: the measured time.
std::vector<double> scales_of(const Timed& timed, const Amounts& parameters) {
  std::vector<double> scales;
  scales.reserve(timed.times.size());
  for (std::size_t i = 0; i < timed.times.size(); ++i) {
    const double predicted = time_of(timed.terms[i], parameters).si();
    scales.push_back(predicted > 0 ? std::sqrt(predicted * timed.times[i]) : timed.times[i]);
  }
  return scales;
}

/// Parameters of terms that do not occur keep their value, so that their side may count again.
void update(const Timed& timed, Sides sides, Amounts& parameters) {
  const std::vector<double> scales = scales_of(timed, parameters);
  const std::vector<Amounts> rows = rows_of(timed, scales, parameters, sides);
  std::vector<std::size_t> occurring;
  for (std::size_t j = 0; j < term_count; ++j) {
    const auto occurs = [j](const Amounts& row) { return row.at(j) > 0; };
    if (std::ranges::any_of(rows, occurs)) occurring.push_back(j);
  }
  Equations equations{.unknowns = occurring.size(), .coefficients = {}, .values = {}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> amounts;
    amounts.reserve(occurring.size());
    for (const std::size_t j : occurring) amounts.push_back(rows[i].at(j));
    equations.add(amounts, timed.times[i] / scales[i]);
  }
  const std::vector<double> fitted = robust_non_negative(equations, timed.importance);
  for (std::size_t k = 0; k < occurring.size(); ++k) parameters.at(occurring[k]) = fitted[k];
}

/// Σ min(|ln (predicted / measured)|, 0.5), each by its importance: what a wild sample adds is
/// bounded.
double loss(const Timed& timed, const Amounts& parameters) {
  double sum = 0;
  for (std::size_t i = 0; i < timed.terms.size(); ++i) {
    const double ratio = time_of(timed.terms[i], parameters).si() / timed.times[i];
    sum += timed.importance[i] * std::min(std::abs(std::log(ratio)), 0.5);
  }
  return sum;
}

struct Fit {
  Amounts parameters{};
  Bytes near;
  double loss = std::numeric_limits<double>::infinity();
};

Fit fit_at(const Evidence& evidence, Bytes near) {
  constexpr int turns = 15;
  const Timed measured = timed(evidence, near);
  Amounts parameters{};
  update(measured, Sides::both, parameters);
  Fit best{parameters, near, loss(measured, parameters)};
  for (int turn = 0; turn < turns; ++turn) {
    const Amounts before = parameters;
    update(measured, Sides::greater, parameters);
    const double reached = loss(measured, parameters);
    if (reached < best.loss) best = {parameters, near, reached};
    if (parameters == before) break;
  }
  return best;
}

Fit fit(const Evidence& evidence) {
  Fit best;
  for (const double kibibytes : {256.0, 1024.0, 4096.0, 16384.0}) {
    Fit found = fit_at(evidence, Bytes(1024 * kibibytes));
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
std::vector<double> left_out_ratios(const Evidence& evidence, Bytes near) {
  std::vector<double> ratios;
  for (int fold = 0; fold < folds; ++fold) {
    const auto is_out = [fold](const KernelSample* sample) {
      return fold_of(sample->what.kernel, folds, fold_salt) == fold;
    };
    const Evidence inside = selected(evidence, std::not_fn(is_out));
    const Evidence outside = selected(evidence, is_out);
    if (outside.own.empty() || inside.own.empty()) continue;
    const Fit found = fit_at(inside, near);
    for (const KernelSample* sample : outside.own) {
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

MeasuredWorkspaces workspaces_of(const Samples& samples) {
  MeasuredWorkspaces workspaces;
  for (const KernelSample* sample : samples) {
    const KernelCase& what = sample->what;
    if (declares_workspace(what.way) || !sample->workspace) continue;
    workspaces[{what.kernel, what.batch}] = *sample->workspace;
  }
  return workspaces;
}

/// The highest rates reached by any way with as many threads on a processor, or on a GPU.
Roofline highest_rates(std::span<const KernelSample> samples, const Way& as) {
  Roofline roofline;
  for (const KernelSample& sample : samples) {
    const Way& way = sample.what.way;
    if (way.threads != as.threads || way.on_device() != as.on_device()) continue;
    roofline.peak = std::max(roofline.peak, sample.what.work.flops() / sample.time);
    roofline.bandwidth = std::max(roofline.bandwidth, sample.what.work.bytes() / sample.time);
  }
  return roofline;
}

/// The same backend, family of methods, threads and caches: other passes, tiles of other sizes.
bool are_kin(const Way& a, const Way& b) {
  const auto family = [](const Way& way) {
    const std::string_view name = lowering::method_name(way.method);
    return name.substr(0, name.find('_'));
  };
  return a != b && a.backend == b.backend && family(a) == family(b) && a.threads == b.threads &&
         a.cache == b.cache;
}

/// left_out_ratios() of the ways that have a model.
using Ratios = std::map<Way, std::vector<double>>;

/// The ratios of a way; of fewer than 39, whose extremes hold less than 95 % of what comes next,
/// with those of its kin.
std::vector<double> ratios_for(const Way& way, const Ratios& ratios) {
  constexpr std::size_t enough = 39;
  std::vector<double> result = ratios.at(way);
  if (result.size() >= enough) return result;
  for (const auto& [other, others] : ratios) {
    if (are_kin(way, other)) std::ranges::copy(others, std::back_inserter(result));
  }
  return result;
}

KernelModel make_model(const Way& way, const Evidence& evidence, const Roofline& naive) {
  const Samples& samples = evidence.own;
  const Fit found = fit(evidence);
  KernelModel model;
  model.way = way;
  model.vector_floats = samples.front()->what.vector_floats;
  model.parameters = found.parameters;
  model.near = found.near;
  set_ranges(samples, model);
  model.naive = naive;
  model.kernels = static_cast<int>(kernels_of(samples).size());
  model.samples = static_cast<int>(samples.size());
  model.workspaces = workspaces_of(samples);
  return model;
}

}  // namespace

KernelModels fit_kernels(std::span<const KernelSample> samples, std::vector<std::string>& skipped) {
  std::map<Way, Samples> by_way;
  for (const KernelSample& sample : samples) by_way[sample.what.way].push_back(&sample);
  KernelModels models;
  Ratios ratios;
  for (const auto& [way, own] : by_way) {
    if (static_cast<int>(kernels_of(own).size()) < least_kernels) {
      skipped.push_back(way.algorithm() + " " + std::string(pass_name(way.pass)));
      continue;
    }
    Evidence evidence{own, {}};
    for (const auto& [other, others] : by_way) {
      if (are_kin(way, other)) std::ranges::copy(others, std::back_inserter(evidence.kin));
    }
    models.models.push_back(make_model(way, evidence, highest_rates(samples, way)));
    ratios[way] = left_out_ratios(evidence, models.models.back().near);
  }
  for (KernelModel& model : models.models) set_interval(ratios_for(model.way, ratios), model);
  return models;
}

}  // namespace dlscale::model
