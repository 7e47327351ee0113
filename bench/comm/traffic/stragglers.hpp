#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/comm/traffic/start_skew.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Of each rank, equally many: samples[rank][i].
using RankSamples = std::vector<std::vector<double>>;

/// A rank that is nearly always the last.
struct Straggler {
  std::size_t rank = 0;
  double share = 0;  ///< of the samples in which it is the last
  double lead = 0;   ///< by how much of the whole, in the median
};

/// The rank whose sample is the largest in at least nine of ten (at least ten of them), in the
/// median by 5 % of `whole` (by sample) or more, and by more than `unsure`, which is in the unit of
/// the samples. None where ranks take turns, or there is one rank.
std::optional<Straggler> find_straggler(const RankSamples& samples, std::span<const double> whole,
                                        double unsure = 0);

/// A warning that names the rank whose time is the longest, as find_straggler() has it. For traffic
/// in which all ranks do the same, as in an all-reduce.
std::vector<std::string> straggler_warnings(const RankSamples& times);

/// The stays of all ranks in calls: [rank][i].
using RankStays = std::vector<std::vector<CommonStay>>;

/// Whether what ranks do in a call is the same, so that one that leaves it last is slow itself.
enum class Doing { the_same, their_part };

/// A warning that names the rank which enters calls after all others, though they had met; if none
/// does and all do the same, the one that leaves last. Time in a call tells neither: who enters
/// early is longest in it. `unsure`: what entries of two ranks may be apart without being told.
std::vector<std::string> slow_rank_warnings(const RankStays& stays, Doing doing, Seconds unsure);

/// What a table has room for of such warnings: " (rank 2 starts last)". They begin with the rank,
/// as no others do.
std::string slow_rank_remark(std::span<const std::string> warnings);

}  // namespace dlscale::bench
