#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
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

}  // namespace dlscale::model
