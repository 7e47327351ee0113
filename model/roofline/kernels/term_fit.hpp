#pragma once
#include <limits>
#include <vector>

#include "model/roofline/kernels/kernel_sample.hpp"
#include "model/roofline/kernels/kernel_terms.hpp"

namespace dlscale::model {

using SamplePointers = std::vector<const KernelSample*>;

/// What a fit is made to: a way's own samples, and those of its kin, each of which counts a fifth
/// as much.
struct FitEvidence {
  SamplePointers own;
  SamplePointers kin;
};

/// Parameters of terms_of() with those caches.
struct TermFit {
  Amounts parameters{};
  Caches caches;
  /// That the evidence has any of: the parameters of others are 0, which says nothing of them.
  TermSet seen = {};
  /// Σ min(|ln (predicted / measured)|, 0.5), each by its importance: what a wild sample adds is
  /// bounded.
  double loss = std::numeric_limits<double>::infinity();
  /// Whether it has seen all terms of which a case has any; else a part of its time is not known.
  [[nodiscard]] bool tells(const KernelTerms& terms) const {
    return (occurring(terms) & ~seen).none();
  }
};

/// Robust least squares on residuals of about the logarithm of predicted / measured, with
/// parameters ≥ 0 (least_squares.hpp). Which side of each stage's maximum counts is found by turns:
/// parameters from the sides that count, sides from the parameters, up to 15 times; the best of
/// them is kept. Requires a sample.
TermFit fit_terms_at(const FitEvidence& evidence, const Caches& caches);

/// With what a core gets of the caches: the best Caches::near of 256 KiB … 16 MiB, with a last
/// level of 16 MiB, and with that the best Caches::last of 8 … 32 MiB.
TermFit fit_terms(const FitEvidence& evidence);

}  // namespace dlscale::model
