#pragma once
#include <cstdint>
#include <span>

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

}  // namespace dlscale::model
