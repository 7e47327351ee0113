#include "bench/comm/traffic/start_skew.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

/// Gathers equally many stays from every rank: all[rank][i].
std::vector<std::vector<CommonStay>> all_gather(backend::Communicator& ranks,
                                                const std::vector<CommonStay>& mine) {
  const auto size = static_cast<std::size_t>(ranks.size());
  std::vector<CommonStay> flat(size * mine.size());
  ranks.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(flat)));
  std::vector<std::vector<CommonStay>> all;
  for (std::size_t rank = 0; rank < size; ++rank) {
    const auto theirs = std::span(flat).subspan(rank * mine.size(), mine.size());
    all.emplace_back(theirs.begin(), theirs.end());
  }
  return all;
}

/// A series with one list for all ranks together.
Series of_all(std::vector<double> values) {
  return make_series("s", {std::move(values)});
}

/// Largest error of the difference of two entries. Rank 0's clock, the common one, is exact.
Seconds joint_uncertainty(const std::vector<RankClock>& clocks) {
  std::vector<Seconds> worst;
  worst.reserve(clocks.size());
  for (const RankClock& clock : clocks) worst.push_back(clock.uncertainty());
  std::ranges::sort(worst, std::ranges::greater());
  return worst.size() < 2 ? Seconds(0) : worst[0] + worst[1];
}

}  // namespace

Seconds start_skew(CallStays stays) {
  EXPECT(!stays.empty());
  const auto [first, last] = std::ranges::minmax_element(stays, {}, &CommonStay::entry);
  return last->entry - first->entry;
}

Seconds last_entry_to_last_exit(CallStays stays) {
  EXPECT(!stays.empty());
  const auto entered = std::ranges::max_element(stays, {}, &CommonStay::entry);
  const auto left = std::ranges::max_element(stays, {}, &CommonStay::exit);
  return left->exit - entered->entry;
}

StartWatch::StartWatch(backend::Communicator& ranks)
    : ranks_(&ranks), clock_(ranks), before_(clock_.look()) {}

std::vector<CommonStay> StartWatch::common_stays(const RankClock& mine, std::size_t count) const {
  EXPECT(stays_.size() >= count);
  std::vector<CommonStay> common;
  common.reserve(count);
  for (const Stay& stay : std::span(stays_).last(count)) {
    common.push_back({mine.common(clock_.shown(stay.entry)), mine.common(clock_.shown(stay.exit))});
  }
  return common;
}

void StartWatch::report(const Traffic& traffic, Measurement& measurement) {
  const auto time = measurement.series.find("time");
  if (time == measurement.series.end()) return;  // likewise on all ranks
  const std::vector<ClockOffset> after = clock_.look();
  std::vector<RankClock> involved;
  std::vector<std::vector<double>> offsets;
  for (std::size_t rank = 0; rank < after.size(); ++rank) {
    offsets.push_back({before_[rank].ahead.si(), after[rank].ahead.si()});
    if (traffic.involves(static_cast<Rank>(rank))) {
      involved.emplace_back(before_[rank], after[rank]);
    }
  }
  const auto mine = static_cast<std::size_t>(ranks_->rank());
  const std::size_t count = time->second.samples.front().size();
  reported_ = all_gather(*ranks_, common_stays(RankClock(before_[mine], after[mine]), count));
  std::vector<double> skews;
  std::vector<double> joint_times;
  for (std::size_t i = 0; i < count; ++i) {
    std::vector<CommonStay> call;
    for (std::size_t rank = 0; rank < reported_.size(); ++rank) {
      if (traffic.involves(static_cast<Rank>(rank))) call.push_back(reported_[rank][i]);
    }
    skews.push_back(start_skew(call).si());
    joint_times.push_back(last_entry_to_last_exit(call).si() / traffic.parts());
  }
  measurement.series["start_skew_p95"] = of_all({quantile(skews, 0.95)});
  measurement.series["start_skew"] = of_all(std::move(skews));
  measurement.series["last_entry_to_last_exit"] = of_all(std::move(joint_times));
  measurement.series["clock_uncertainty"] = of_all({joint_uncertainty(involved).si()});
  measurement.series["clock_offset"] = make_series("s", std::move(offsets));
}

}  // namespace dlscale::bench
