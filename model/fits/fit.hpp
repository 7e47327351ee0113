#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "core/system/environment.hpp"
#include "model/fits/piecewise.hpp"

namespace dlscale::model {

/// A measurement with the file it came from.
struct Sourced {
  const Measurement* measurement = nullptr;
  std::string file;
  /// Value of an axis, an integer ≥ 1. Throws ConfigError that names file and key.
  [[nodiscard]] std::int64_t integer(std::string_view axis) const;
  [[nodiscard]] int count(std::string_view axis) const;  ///< the same, ≤ 1e9
  [[nodiscard]] const std::string& axis(std::string_view name) const;
};

/// Measurements of the same quantity, from one file or several.
using Group = std::vector<Sourced>;

/// Groups by the values of the named axes, in that order.
std::map<std::vector<std::string>, Group> group_by(const Group& all,
                                                   const std::vector<std::string_view>& axes);

/// The ranks whose time counts where several were measured at once. Joint work lasts as long as on
/// the slowest rank. Independent work lasts as long as on each rank: training ranks synchronize at
/// messages only, so a sum of the slowest of each step would exceed the time of any rank.
enum class Ranks { slowest, each };
enum class Range { positive, not_negative };

/// One series of a group as one estimate: the median of the medians, between the least and the
/// greatest end of their 95 % intervals. For Ranks::each, median and interval of a measurement are
/// means over its ranks. Throws ConfigError if a series is missing, is not in seconds, or is not
/// positive under Range::positive.
Estimate<Seconds> pool(const Group& group, std::string_view series, Range range, Ranks ranks);

/// The mean of all samples of a series over all ranks and files, for quantities that add up: images
/// differ in size, so that their median says little about a batch. Has the 95 % interval of the
/// mean (normal). Throws as pool() does.
Estimate<Seconds> pool_mean(const Group& group, std::string_view series);

/// The files of a group, "a.jsonl" or "a.jsonl and 2 more".
std::string source(const Group& group);

/// A measured time of a message, copy or update.
struct SizedTime {
  Bytes size;
  Estimate<Seconds> time;
};

/// Student's t, two-sided 95 %, by degrees of freedom from 1; it tends to 1.96 as 1.96 + 2.4 / n.
/// [any table]
double student_t95(std::size_t freedom);

/// Fits T(m) = α + β m with α, β ≥ 0 to all points, by least squares on relative error Σ ((α + β
/// m_i - t_i) / t_i)². Where a constraint binds, the other parameter is fitted again. Intervals and
/// spread are those of weighted linear regression for the unconstrained problem (Student's t, n - 2
/// degrees of freedom), cut off at 0. The variance of a point is that of the residuals, or of the
/// measurements' own intervals where that is larger. Requires ≥ 2 points with two different sizes,
/// ascending, and times > 0.
Segment fit_affine(std::span<const SizedTime> points);

/// Partitions the points into segments of ≥ 3 points with the least
///   BIC = n ln(max(RSS/n, s²)) + (4 k - 2) ln n
/// over all partitions in up to 6 segments (dynamic programming). RSS is on relative error; s is
/// the larger of 0.5 % and the mean relative standard deviation of the measurements, so that noise
/// adds no segments. Boundaries lie at the geometric mean of neighbouring sizes.
std::vector<Segment> fit_piecewise(std::span<const SizedTime> points);

/// The links between the hosts of a cluster of scripts/cluster, from DLSCALE_CLUSTER in their
/// environment, each kind once: "links of 1Gb/s by tc tbf with bursts of 50000 bytes". It omits the
/// number of hosts, so that a cluster with more or fewer hosts stays the same. Empty where the
/// environment says nothing, as on hosts of their own.
std::string links_between_hosts(const Environment& environment);

/// Number of cores that the hosts of a cluster of scripts/cluster share on one machine, from
/// DLSCALE_CLUSTER: 2 for "3 hosts on one machine with cores 0,1 | 0,1 | 0,1, …". 0 where that is
/// not stated, as on hosts of their own.
int cores_of_hosts(const Environment& environment);

/// The common value of all; 0 if they differ, or there is none.
int alike(std::span<const int> values);

/// Whether the ranks were on several hosts, so that links between them mattered. False where that
/// is not stated (axes "ranks" and "ranks_on_node").
bool is_between_hosts(const Measurement& measurement);

}  // namespace dlscale::model
