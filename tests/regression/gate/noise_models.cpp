#include "noise_models.hpp"

#include <cmath>
#include <numbers>

namespace dlscale::regression {
namespace {

/// P(X = k) of a binomial distribution.
double binomial(std::size_t n, std::size_t k, double p) {
  const auto N = static_cast<double>(n);
  const auto K = static_cast<double>(k);
  if (p <= 0) return k == 0 ? 1 : 0;
  if (p >= 1) return k == n ? 1 : 0;
  return std::exp(std::lgamma(N + 1) - std::lgamma(K + 1) - std::lgamma(N - K + 1) +
                  K * std::log(p) + (N - K) * std::log1p(-p));
}

double factor(Noise noise, Draws& draws) {
  const double narrow = 1 + 0.01 * draws.normal();
  switch (noise) {
    case Noise::gaussian_266:
      return 1 + 0.0266 * draws.normal();
    case Noise::outliers: {
      const double tail = 1.1 - 0.2 * std::log(1 - draws.uniform());
      return draws.uniform() < 0.05 ? narrow * tail : narrow;
    }
    case Noise::two_levels:
      return draws.uniform() < 0.2 ? narrow * 1.05 : narrow;
    case Noise::gaussian_1:
    case Noise::ar_5:
    case Noise::ar_8:
      return narrow;
  }
  return narrow;
}

double autocorrelation(Noise noise) {
  if (noise == Noise::ar_5) return 0.5;
  return noise == Noise::ar_8 ? 0.8 : 0;
}

}  // namespace

double Draws::uniform() {
  return static_cast<double>(generator_() >> 11) * 0x1p-53;
}

double Draws::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

std::size_t Draws::below(std::size_t n) {
  return static_cast<std::size_t>(uniform() * static_cast<double>(n));
}

std::vector<double> draw_history(Noise noise, std::size_t points, std::size_t change, double step,
                                 Draws& draws) {
  std::vector<double> history;
  const double rho = autocorrelation(noise);
  double deviation = 0.01 * draws.normal();
  for (std::size_t i = 0; i < points; ++i) {
    const double level = 100 * (i >= change ? 1 + step : 1);
    if (rho > 0) {
      deviation = rho * deviation + 0.01 * std::sqrt(1 - rho * rho) * draws.normal();
      history.push_back(level * (1 + deviation));
    } else {
      history.push_back(level * factor(noise, draws));
    }
  }
  return history;
}

std::size_t most_of(std::size_t n, double p) {
  double sum = 0;
  std::size_t k = 0;
  for (; k < n; ++k) {
    sum += binomial(n, k, p);
    if (sum >= 0.999) return k;
  }
  return n;
}

std::size_t least_of(std::size_t n, double p) {
  return n - most_of(n, 1 - p);
}

}  // namespace dlscale::regression
