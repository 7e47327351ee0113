#include "model/published/scaling/fit/damped_step.hpp"

#include <cmath>
#include <cstddef>

#include "core/base/error.hpp"

namespace dlscale::model::scaling {

std::vector<double> damped_step(std::span<const double> H, std::span<const double> g,
                                double damping) {
  const std::size_t n = g.size();
  EXPECT(H.size() == n * n && damping >= 0);
  std::vector<double> L(n * n);
  std::vector<double> x(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = H[i * n + j] * (i == j ? 1 + damping : 1.0);
      for (std::size_t l = 0; l < j; ++l) sum -= L[i * n + l] * L[j * n + l];
      if (i != j) {
        L[i * n + j] = sum / L[j * n + j];
      } else {
        // `sum` is nearly 0 for a direction that depends on others or is undetermined.
        const bool known = sum > 1e-14 * H[i * n + i];
        L[i * n + i] = known ? std::sqrt(sum) : INFINITY;
      }
    }
    double sum = -g[i];
    for (std::size_t l = 0; l < i; ++l) sum -= L[i * n + l] * x[l];
    x[i] = sum / L[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t l = i + 1; l < n; ++l) x[i] -= L[l * n + i] * x[l];
    x[i] /= L[i * n + i];
  }
  return x;
}

}  // namespace dlscale::model::scaling
