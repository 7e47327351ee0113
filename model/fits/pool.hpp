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

/// Measurements that answer the same question, from one file or several.
using Group = std::vector<Sourced>;

/// Groups by the values of the axes named, in that order.
std::map<std::vector<std::string>, Group> group_by(const Group& all,
                                                   const std::vector<std::string_view>& axes);

/// Whose time counts where several ranks were measured at once. What all of them do together lasts
/// as long as on the slowest. What each does for itself lasts as long as on that rank: training
/// ranks meet at messages only, so that a sum of the slowest of each step is longer than any of
/// them takes.
enum class Ranks { slowest, each };
enum class Range { positive, not_negative };

/// One series of a group as one estimate: the median of the medians, between the least and the
/// greatest end of their 95 % intervals. For Ranks::each, median and interval of a measurement are
/// means over its ranks. Throws ConfigError if a series is missing, is not in seconds or is not
/// positive where `positive` asks for it.
Estimate<Seconds> pool(const Group& group, std::string_view series, Range range, Ranks ranks);

/// One series of a group by the mean of its samples over all ranks and files, for what adds up over
/// many: pictures differ in size, so that the median of them says little about a batch. With the
/// 95 % interval of the mean (normal). Throws as pool() does.
Estimate<Seconds> pool_mean(const Group& group, std::string_view series);

/// The files of a group, "a.jsonl" or "a.jsonl and 2 more".
std::string source(const Group& group);

}  // namespace dlscale::model
