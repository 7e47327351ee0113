#pragma once
#include <cstdint>
#include <random>
#include <vector>

namespace dlscale::regression {

/// Noise of a metric around a level of 100, as synthetic histories of the studies have it.
enum class Noise {
  gaussian_1,    ///< 1 %
  gaussian_266,  ///< 2.66 %, what runs on shared hosts of a code forge vary by
  outliers,      ///< 1 %, and 5 % of the points slower by 10 % and more
  two_levels,    ///< 1 %, and 20 % of the points slower by 5 %
  ar_5,          ///< 1 %, neighbours alike: autocorrelation .5
  ar_8,          ///< the same, .8
};
inline constexpr Noise steady_noises[] = {Noise::gaussian_1, Noise::gaussian_266, Noise::outliers,
                                          Noise::two_levels, Noise::ar_5,         Noise::ar_8};

/// Numbers that are the same with every standard library: its distributions are not.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : generator_(seed) {}
  double uniform();  ///< [0, 1)
  double normal();
  std::size_t below(std::size_t n);

 private:
  std::mt19937_64 generator_;
};

/// A history of so many points; from point `change` on it is higher by the fraction `step`.
std::vector<double> draw_history(Noise noise, std::size_t points, std::size_t change, double step,
                                 Draws& draws);

/// How often an event of probability `p` may happen at most in n trials, with 99.9 % certainty.
std::size_t most_of(std::size_t n, double p);
/// How often it must happen at least.
std::size_t least_of(std::size_t n, double p);

}  // namespace dlscale::regression
