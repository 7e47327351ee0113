#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/ids.hpp"
#include "core/base/order_statistics.hpp"
#include "core/base/units.hpp"

namespace dlscale::model {

/// Computing time of the slowest of N workers, for which a synchronous step waits: order statistics
/// of N independent, identically distributed times. Wrong where workers are slow together or one is
/// always slow. Where messages overlap backward, penalties of single messages do not add up: count
/// one, on the critical path. Arguments that are not finite or out of range are the caller's bug
/// (EXPECT).

/// Log-normal variation of the computing time of ranks, independent by iteration and rank.
struct RankSpread {
  double deviation = 0;  ///< σ / μ, from 0 to most_deviation
};

/// The largest deviation, where the tail has almost all time.
inline constexpr double most_deviation = 10;

/// E[max] of N ≥ 1 times of mean μ > 0:  μ expected_log_normal_maximum(N, √ln(1 + σ²/μ²))
Seconds expected_slowest(Seconds mean, const RankSpread& spread, std::int64_t workers);

/// Computing time of each rank in each iteration, over its mean: 1 where all ranks are alike. All >
/// 0 and finite. Arguments out of range are the caller's bug (EXPECT).
class ComputeFactors {
 public:
  /// All 1.
  ComputeFactors() : values_{1} {}
  /// Factors by rank, iteration by iteration, repeated cyclically.
  explicit ComputeFactors(const std::vector<double>& by_rank)
      : ComputeFactors(by_rank.size(), by_rank) {}
  ComputeFactors(std::size_t ranks, std::vector<double> values);

  [[nodiscard]] double at(Rank rank, std::size_t iteration) const {
    return values_[(iteration * ranks_ + static_cast<std::size_t>(rank)) % values_.size()];
  }

 private:
  std::size_t ranks_ = 1;
  std::vector<double> values_;  ///< rank by rank, iteration by iteration; cyclic
};

/// Draws factors for `ranks` ≥ 1 and `iterations` ≥ 1, repeated cyclically. Equal arguments give
/// equal factors, on every machine:
///   exp(s z - s²/2),  s = √ln(1 + σ²),  z = √(-2 ln u) cos 2πv
/// of uniform u, v in (0, 1] [Box & Muller 1958]: |z| < 8.6.
ComputeFactors drawn_factors(const RankSpread& spread, int ranks, std::size_t iterations,
                             std::uint64_t seed);

}  // namespace dlscale::model
