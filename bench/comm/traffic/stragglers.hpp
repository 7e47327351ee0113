#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/comm/traffic/start_skew.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Equally many samples of each rank: samples[rank][i].
using RankSamples = std::vector<std::vector<double>>;

/// A rank that is nearly always the slowest.
struct Straggler {
  std::size_t rank = 0;
  double share = 0;  ///< share of the samples in which it is the slowest
  double lead = 0;   ///< median lead as a share of the whole
};

/// Finds the rank whose sample is the largest in at least nine of ten (of at least ten samples).
/// Its median lead must be at least 5 % of `whole` (per sample), and more than `unsure`, in the
/// samples' unit. Empty where ranks take turns, and for a single rank.
std::optional<Straggler> find_straggler(const RankSamples& samples, std::span<const double> whole,
                                        double unsure = 0);

/// A warning that names the slowest rank, by find_straggler(), for traffic in which all ranks do
/// the same, as in an all-reduce.
std::vector<std::string> straggler_warnings(const RankSamples& times);

/// Stays of all ranks in calls: [rank][i].
using RankStays = std::vector<std::vector<CommonStay>>;

/// Whether all ranks do the same in a call, so that the last to leave is slow itself.
enum class Doing { the_same, their_part };

/// A warning that names the rank which enters calls last, despite the barrier before. If there is
/// none and all ranks do the same, it names the last to leave. The time in a call shows neither, as
/// early ranks wait longest. `unsure`: the largest difference of two ranks' entries that clocks may
/// hide.
std::vector<std::string> slow_rank_warnings(const RankStays& stays, Doing doing, Seconds unsure);

/// Short form of such warnings for a table: " (rank 2 starts last)". They begin with the rank,
/// unlike all other warnings.
std::string slow_rank_remark(std::span<const std::string> warnings);

}  // namespace dlscale::bench
