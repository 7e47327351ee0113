#pragma once
#include <optional>
#include <span>
#include <vector>

#include "model/roofline/kernels/correction.hpp"
#include "model/roofline/kernels/term_fit.hpp"

namespace dlscale::model {

/// Fits of a way by terms: to all that was measured, and without each tenth of the shapes, by
/// fold_of().
struct FittedWay {
  Way way;
  FitEvidence evidence;
  TermFit whole;
  /// By fold; none where the way has no sample outside of the fold.
  std::vector<std::optional<TermFit>> without;
};
FittedWay fit_way(const Way& way, FitEvidence evidence);

/// Of a Correction.
struct Strength {
  double reach, prior;
};

/// The correction of a way: what its fit leaves over of its own samples, and, each counting for 0.3
/// of one, of those of other passes of its algorithm, which meet the same shapes with much the same
/// code. `all` has the fits of those.
Correction correction_of(const FittedWay& fitted, std::span<const FittedWay> all,
                         const Strength& strength);

/// How fits do on shapes that they have not seen.
struct CrossValidation {
  /// Of all ways: with the least Σ min(|ln (measured / predicted)|, 0.5) over left-out samples,
  /// among reaches of ½, 1 and 2 octaves and priors of ½ to 4 samples. None: corrections lessen it
  /// nowhere.
  std::optional<Strength> strength;
  /// measured / predicted of the left-out samples of each way, corrected by that. The strength was
  /// chosen on the same samples; it is one number pair for all of them.
  std::vector<std::vector<double>> ratios;
};
CrossValidation cross_validate(std::span<const FittedWay> fitted);

}  // namespace dlscale::model
