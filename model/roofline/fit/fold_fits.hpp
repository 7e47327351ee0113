#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/roofline/kernels/correction.hpp"
#include "model/roofline/kernels/term_fit.hpp"

namespace dlscale::model {

/// Fits of a way by terms: one to all samples, and one without each tenth of the shapes, by
/// fold_of().
struct FittedWay {
  Way way;
  FitEvidence evidence;
  TermFit whole;
  /// One fit a fold; empty where the way has no sample outside of the fold.
  std::vector<std::optional<TermFit>> without;
};
FittedWay fit_way(const Way& way, FitEvidence evidence);

/// Reach and prior of a Correction.
struct Strength {
  double reach, prior;
};

/// The correction of a way, from the residuals of its own samples. Residuals of other passes of its
/// algorithm also count, each 0.3 times: they meet the same shapes with almost the same code. `all`
/// has the fits of those passes.
Correction correction_of(const FittedWay& fitted, std::span<const FittedWay> all,
                         const Strength& strength);

/// Accuracy of fits at shapes that they have not seen.
struct CrossValidation {
  /// One strength for all ways: it has the least Σ min(|ln (measured / predicted)|, 0.5) over
  /// left-out samples, among reaches of ½, 1 and 2 octaves and priors of ½ to 4 samples. Empty if
  /// no correction lowers the sum.
  std::optional<Strength> strength;
  /// Corrected measured / predicted of the left-out samples of each way. The strength is chosen on
  /// the same samples, but it is only one pair of numbers for all of them.
  std::vector<std::vector<double>> ratios;
};
CrossValidation cross_validate(std::span<const FittedWay> fitted);

}  // namespace dlscale::model
