#pragma once
#include <cstdint>
#include <vector>

namespace dlscale::backend::native_device::spectral {

/// One pass of a transform of L points by Stockham's autosort, decimated in frequency. L / n
/// transforms of n points that are `s` apart become `radix` times as many of n / radix points:
///   y[q + s(radix·p + k)] = ω_n^(p·k) Σ_j ω_radix^(j·k) x[q + s(p + j·n/radix)]
/// for p < n/radix, q < s, k < radix, where ω_n = exp(-2πi/n) [Van Loan, Computational Frameworks
/// for the FFT, 1.7].
struct Stage {
  int radix;
  std::int64_t n;
  std::int64_t s;
  std::vector<float> twiddles;  ///< re, im of ω_n^(p·k): for every p, k = 1 … radix-1
};

/// The passes of a transform of L points, L = 4 … 256 a power of two: at most 3, of radix 8 and 4.
std::vector<Stage> make_stages(std::int64_t L);

/// Data of a transform of L × L points.
struct BatchedPlan {
  std::int64_t L;
  std::vector<Stage> stages;
};

}  // namespace dlscale::backend::native_device::spectral
