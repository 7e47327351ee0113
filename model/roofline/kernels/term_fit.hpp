#pragma once
#include <limits>
#include <vector>

#include "model/roofline/kernels/kernel_sample.hpp"
#include "model/roofline/kernels/kernel_terms.hpp"

namespace dlscale::model {

using SamplePointers = std::vector<const KernelSample*>;

/// Samples for a fit: a way's own, and those of its kin, which count a fifth each.
struct FitEvidence {
  SamplePointers own;
  SamplePointers kin;
};

/// Parameters of terms_of() with those caches.
struct TermFit {
  Amounts parameters{};
  Caches caches;
  /// Terms that the evidence contains. Parameters of other terms are 0, which says nothing about
  /// them.
  TermSet seen = {};
  /// Σ min(|ln (predicted / measured)|, 0.5), each times its importance. The cap bounds the effect
  /// of outliers.
  double loss = std::numeric_limits<double>::infinity();
  /// Whether it has seen all terms that a case contains; otherwise a part of the case's time is not
  /// known.
  [[nodiscard]] bool tells(const KernelTerms& terms) const {
    return (occurring(terms) & ~seen).none();
  }
};

/// Robust least squares on residuals of about the logarithm of predicted / measured, with
/// parameters ≥ 0 (least_squares.hpp). Two steps alternate up to 15 times: fit parameters for the
/// current side of each stage's maximum, then choose sides by the parameters. The best parameters
/// are kept. Requires at least one sample.
TermFit fit_terms_at(const FitEvidence& evidence, const Caches& caches);

/// The fit with the best caches: the best Caches::near of 256 KiB … 16 MiB, with a last level of
/// 16 MiB, and with that the best Caches::last of 8 … 32 MiB.
TermFit fit_terms(const FitEvidence& evidence);

}  // namespace dlscale::model
