#pragma once
#include <cstdint>
#include <span>

#include "core/base/units.hpp"

namespace dlscale::model {

/// How long the slowest of N workers computes, for which a synchronous step waits: order statistics
/// of N times that are independent of each other and alike (MODEL 10). Wrong where workers are
/// slow together or one is slow always; workers that share their jitter count as one, see
/// independent_units(). Where messages overlap backward, penalties of single messages do not add
/// up: count one, on the critical path (10.6). Arguments that are not finite or out of their range
/// are the caller's bug (EXPECT).
enum class SpreadShape {
  normal,
  log_normal,   ///< never negative, with a longer tail
  exponential,  ///< a least time, mean - deviation, and a tail of that deviation
};

/// Of the time of one worker.
struct Spread {
  SpreadShape shape = SpreadShape::normal;
  Seconds mean = {};       ///< μ > 0
  Seconds deviation = {};  ///< σ ≥ 0; of `exponential` at most μ
};

/// e_N, the mean of the largest of N ≥ 1 standard normal numbers (10.1):
///   e_N = ∫ x N φ(x) Φ(x)^(N-1) dx ≤ √(2 ln N)
/// By the trapezoidal rule with steps of 1/64 from -12 to 12, which for so smooth an integrand errs
/// by less than 1e-10 (tested for N up to 10^6 against closed forms and another integral).
double expected_normal_maximum(std::int64_t n);

/// The same of N ≥ 1 log-normal numbers over their mean, where the logarithm deviates by s ≥ 0:
///   ∫ N φ(y) Φ(y + s)^(N-1) dy    [D, derived: x = y + s makes the factor of e^(s x) vanish]
double expected_log_normal_maximum(std::int64_t n, double s);

/// H_n = Σ_{i=1..n} 1/i, n ≥ 0. From 100 on ln n + γ + 1/(2n) - 1/(12n²) + 1/(120n⁴), whose error
/// is below 1/(252 n⁶). [Abramowitz & Stegun 6.3.18]
double harmonic_number(std::int64_t n);

/// E[max] of `workers` ≥ 1 times.
///   normal       μ + σ e_N                                                        (10.1)
///   log-normal   μ expected_log_normal_maximum(N, √ln(1 + σ²/μ²))
///   exponential  (μ - σ) + σ H_N                                                  (10.2)
Seconds expected_slowest(const Spread& spread, std::int64_t workers);

/// The same where each worker draws one of the measured times, ≥ 1 of them, each ≥ 0:
///   Σ_i x_(i) ((i/m)^N - ((i-1)/m)^N)   with m times, x_(1) ≤ … ≤ x_(m)
/// exact for these. Wrong where workers are many more than times: it never exceeds the largest.
Seconds expected_slowest(std::span<const Seconds> measured, std::int64_t workers);

/// (10.4) when the k-th of N workers is done, 1 ≤ k ≤ N, for steps that go on without the others
/// (backup workers, Chen et al., arXiv:1604.00981); only of `exponential`:
///   (μ - σ) + σ (H_N - H_{N-k})
Seconds expected_kth(const Spread& spread, std::int64_t k, std::int64_t workers);

/// (10.5) ⌈N/g⌉ groups of g ≥ 1 workers that are slow together, such as those of a node.
std::int64_t independent_units(std::int64_t workers, std::int64_t together);

}  // namespace dlscale::model
