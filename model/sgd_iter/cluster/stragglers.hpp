#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"

namespace dlscale::model {

/// Computing time of the slowest of N workers, for which a synchronous step waits: order statistics
/// of N independent, identically distributed times (MODEL 10). Wrong where workers are slow
/// together or one is always slow; workers that share their jitter count as one, see
/// independent_units(). Where messages overlap backward, penalties of single messages do not add
/// up: count one, on the critical path (10.6). Arguments that are not finite or out of range are
/// the caller's bug (EXPECT).
enum class SpreadShape {
  normal,
  log_normal,   ///< never negative, with a longer tail
  exponential,  ///< a least time, mean - deviation, plus an exponential tail
};

/// Distribution of the time of one worker.
struct Spread {
  SpreadShape shape = SpreadShape::normal;
  Seconds mean = {};       ///< μ > 0
  Seconds deviation = {};  ///< σ ≥ 0; for `exponential` at most μ
};

/// e_N, the mean of the largest of N ≥ 1 standard normal numbers (10.1):
///   e_N = ∫ x N φ(x) Φ(x)^(N-1) dx ≤ √(2 ln N)
/// It uses the trapezoidal rule with steps of 1/64 from -12 to 12. For so smooth an integrand the
/// error is below 1e-10 (tested for N up to 10^6 against closed forms and another integral).
double expected_normal_maximum(std::int64_t n);

/// The mean of the largest of N ≥ 1 log-normal numbers over their mean, for a deviation s ≥ 0 of
/// the logarithm:
///   ∫ N φ(y) Φ(y + s)^(N-1) dy    [D, derived: x = y + s makes the factor of e^(s x) vanish]
double expected_log_normal_maximum(std::int64_t n, double s);

/// H_n = Σ_{i=1..n} 1/i, n ≥ 0. For n ≥ 100 it is ln n + γ + 1/(2n) - 1/(12n²) + 1/(120n⁴), with an
/// error below 1/(252 n⁶). [Abramowitz & Stegun 6.3.18]
double harmonic_number(std::int64_t n);

/// E[max] of `workers` ≥ 1 times.
///   normal       μ + σ e_N                                                        (10.1)
///   log-normal   μ expected_log_normal_maximum(N, √ln(1 + σ²/μ²))
///   exponential  (μ - σ) + σ H_N                                                  (10.2)
Seconds expected_slowest(const Spread& spread, std::int64_t workers);

/// E[max] where each worker draws one of the measured times, ≥ 1 of them, each ≥ 0:
///   Σ_i x_(i) ((i/m)^N - ((i-1)/m)^N)   with m times, x_(1) ≤ … ≤ x_(m)
/// exact for these. Wrong where workers are many more than times: it never exceeds the largest.
Seconds expected_slowest(std::span<const Seconds> measured, std::int64_t workers);

/// (10.4) Time of the k-th of N workers, 1 ≤ k ≤ N, for steps that do not wait for the others
/// (backup workers, Chen et al., arXiv:1604.00981); only for `exponential`:
///   (μ - σ) + σ (H_N - H_{N-k})
Seconds expected_kth(const Spread& spread, std::int64_t k, std::int64_t workers);

/// (10.5) ⌈N/g⌉ groups of g ≥ 1 workers that are slow together, for example those of a node.
std::int64_t independent_units(std::int64_t workers, std::int64_t together);

/// Variation of the computing time of ranks, independent by iteration and unit.
struct RankSpread {
  SpreadShape shape = SpreadShape::log_normal;
  double deviation = 0;  ///< σ / μ, from 0 to most_deviation()
  int together = 1;      ///< ≥ 1: consecutive ranks with the same factor, for example a node's
};

/// Computing time of each rank in each iteration, over its mean: 1 where all ranks are alike. All >
/// 0 and finite. Arguments out of range are the caller's bug (EXPECT).
class ComputeFactors {
 public:
  /// All 1.
  ComputeFactors() : values_{1} {}
  /// Measured factors, constant over iterations.
  explicit ComputeFactors(std::vector<double> by_rank);

  [[nodiscard]] double at(Rank rank, std::size_t iteration) const {
    return values_[(iteration * ranks_ + static_cast<std::size_t>(rank)) % values_.size()];
  }
  /// The mean over the first `iterations` and all ranks < `ranks`.
  [[nodiscard]] double mean(int ranks, std::size_t iterations) const;

 private:
  friend ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                                      std::uint64_t seed);
  std::size_t ranks_ = 1;
  std::vector<double> values_;  ///< rank by rank, iteration by iteration; cyclic
};

/// The largest deviation of a shape: 0.1 for `normal` and 1 for `exponential`, so that no draw is
/// negative; 10 for `log_normal`, where the tail has almost all time.
double most_deviation(SpreadShape shape);

/// Draws factors for `ranks` ≥ 1 and `iterations` ≥ 1, repeated cyclically. Equal arguments give
/// equal factors, on every machine.
///   normal       1 + σ z
///   log-normal   exp(s z - s²/2),  s = √ln(1 + σ²)
///   exponential  1 - σ - σ ln u
/// with z = √(-2 ln u) cos 2πv of uniform u, v in (0, 1] [Box & Muller 1958]: |z| < 8.6.
ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                             std::uint64_t seed);

}  // namespace dlscale::model
