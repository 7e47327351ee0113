#include "model/roofline/kernels/term_fit.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "model/roofline/kernels/kernel_terms.hpp"
#include "model/roofline/kernels/least_squares.hpp"

namespace dlscale::model {
namespace {

constexpr double kin_importance = 0.2;

/// Samples with their terms and times.
struct Timed {
  std::vector<KernelTerms> terms;
  std::vector<double> times;
  std::vector<double> importance;
};

Timed timed(const FitEvidence& evidence, const Caches& caches) {
  Timed result;
  const auto add = [&](const SamplePointers& samples, double importance) {
    for (const KernelSample* sample : samples) {
      result.terms.push_back(terms_of(sample->what, caches));
      result.times.push_back(sample->time.si());
      result.importance.push_back(importance);
    }
  };
  add(evidence.own, 1);
  add(evidence.kin, kin_importance);
  return result;
}

enum class Sides { both, greater };

/// One row for each sample, divided by `scales`.
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

/// √(measured · predicted). A residual divided by it is 2 sinh(r / 2), where r is the logarithm of
/// predicted / measured. Times too long and too short by one factor then count the same; with the
/// measured time alone, times that noise made short would count most. Before the first prediction
/// it is the measured time.
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

/// TermFit::seen of these samples.
TermSet seen(const Timed& timed) {
  TermSet all;
  for (const KernelTerms& terms : timed.terms) all |= occurring(terms);
  return all;
}

/// TermFit::loss of these parameters.
double loss(const Timed& timed, const Amounts& parameters) {
  double sum = 0;
  for (std::size_t i = 0; i < timed.terms.size(); ++i) {
    const double ratio = time_of(timed.terms[i], parameters).si() / timed.times[i];
    sum += timed.importance[i] * std::min(std::abs(std::log(ratio)), 0.5);
  }
  return sum;
}

}  // namespace

TermFit fit_terms_at(const FitEvidence& evidence, const Caches& caches) {
  constexpr int turns = 15;
  const Timed measured = timed(evidence, caches);
  Amounts parameters{};
  update(measured, Sides::both, parameters);
  const TermSet known = seen(measured);
  TermFit best{parameters, caches, known, loss(measured, parameters)};
  for (int turn = 0; turn < turns; ++turn) {
    const Amounts before = parameters;
    update(measured, Sides::greater, parameters);
    const double reached = loss(measured, parameters);
    if (reached < best.loss) best = {parameters, caches, known, reached};
    if (parameters == before) break;
  }
  return best;
}

TermFit fit_terms(const FitEvidence& evidence) {
  constexpr Bytes usual_last{16.0 * 1024 * 1024};
  TermFit best;
  const auto consider = [&](const Caches& caches) {
    TermFit found = fit_terms_at(evidence, caches);
    if (found.loss < best.loss) best = found;
  };
  for (const double kibibytes : {256.0, 1024.0, 4096.0, 16384.0}) {
    consider({Bytes(1024 * kibibytes), usual_last});
  }
  const Bytes near = best.caches.near;
  for (const double mebibytes : {8.0, 12.0, 24.0, 32.0}) {
    consider({near, Bytes(1024 * 1024 * mebibytes)});
  }
  return best;
}

}  // namespace dlscale::model
