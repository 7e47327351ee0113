#include "backend/compute/native/fft/stages.hpp"

#include <cmath>
#include <numbers>

#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"

namespace dlscale::backend::native_device::spectral {

namespace {

std::vector<float> make_twiddles(std::int64_t n, int radix) {
  std::vector<float> twiddles;
  for (std::int64_t p = 0; p < n / radix; ++p) {
    for (int k = 1; k < radix; ++k) {
      const double angle =
          -2 * std::numbers::pi * static_cast<double>(p * k) / static_cast<double>(n);
      twiddles.push_back(static_cast<float>(std::cos(angle)));
      twiddles.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return twiddles;
}

}  // namespace

std::vector<Stage> make_stages(std::int64_t L) {
  EXPECT(L >= 4 && L <= 256 && (L & (L - 1)) == 0);
  std::vector<Stage> stages;
  for (std::int64_t n = L; n > 1; n /= stages.back().radix) {
    const auto radix = static_cast<int>(convolution::next_radix(n));
    stages.push_back({radix, n, L / n, make_twiddles(n, radix)});
  }
  return stages;
}

}  // namespace dlscale::backend::native_device::spectral
