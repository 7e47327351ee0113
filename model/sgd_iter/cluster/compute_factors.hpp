#pragma once
#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/units.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"

namespace dlscale::model {

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
