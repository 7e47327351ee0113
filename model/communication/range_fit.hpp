#pragma once
#include <array>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "model/communication/carrier.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// α and β of a link, with 95 % intervals.
struct LinkFit {
  Estimate<Seconds> alpha;
  Estimate<SecondsPerByte> beta;
};

/// γ: time to add a byte of a message to another in memory.
struct ReductionTime {
  Estimate<SecondsPerByte> per_byte;
  std::string from;  ///< source of the measurement, in words
};

/// Student's t² times the covariance of x = (α_i, β_i, α_e, β_e, χ_e) by weighted linear
/// regression: the 95 % interval of a sum Σ_j a_j x_j is ± sqrt(aᵀ S a).
using LinkSpread = std::array<LinkMultiples, std::tuple_size_v<LinkMultiples>>;

/// α and β of the links in a range of sizes: the cost of one protocol of a library.
struct LinkRange {
  Bytes from;
  Bytes to;
  std::optional<LinkFit> intra;  ///< within a node; absent if no sample in the range crosses one
  std::optional<LinkFit> inter;  ///< between nodes, likewise
  /// χ_e of LinkTerms; absent where it is part of β, and where no sample in the range needs it.
  std::optional<Estimate<SecondsPerByte>> both_ways = {};
  double median_residual = 0;  ///< |fit - measured| / measured over the samples of the range
  int points = 0;
  std::optional<LinkSpread> spread = {};  ///< absent in files of earlier versions
  /// Half the width of the 95 % interval of Σ_j a_j x_j. Errors count as independent where their
  /// covariance is unknown.
  [[nodiscard]] Seconds half_width(const LinkMultiples& a) const;
};

/// A sample of Σ_j a_j x_j = t, x = (α_i, β_i, α_e, β_e, χ_e), over its own time t.
struct RangeRow {
  Bytes size;             ///< size that selects the range
  LinkMultiples terms{};  ///< a_j / t
  double value = 1;       ///< 1 less the known part of t, over t
  double deviation = 0;   ///< relative standard deviation of t
};

struct RangesFit {
  std::vector<LinkRange> ranges;  ///< ascending and contiguous
  double bic = 0;                 ///< lower is better
  /// The same where each range has its own error: Σ n_r ln(max(RSS_r/n_r, s²)) + the same penalty.
  /// It tells whether a further parameter explains large messages, whose times hardly scatter,
  /// beside small ones, whose times do.
  double bic_by_range = 0;
};

/// Fits x ≥ 0 by ranges of sizes, with the least
///   BIC = n ln(max(RSS/n, s²)) + (Σ parameters of the ranges + 2 ranges - 2) ln n
/// over all partitions in up to 6 ranges of ≥ 3 sizes (dynamic programming). RSS is on relative
/// error; s is the larger of 0.5 % and the mean of the deviations. Sizes closer than a quarter of
/// an octave are one, so that no range ends between a power of two and its neighbours. Boundaries
/// lie at the geometric mean of neighbouring sizes. Intervals are those of linear regression
/// (Student's t) around x, cut off at 0. Requires ≥ 1 row.
RangesFit fit_ranges(std::vector<RangeRow> rows);

}  // namespace dlscale::model
