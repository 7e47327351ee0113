#include "model/roofline/kernels/ceilings.hpp"

#include <algorithm>
#include <functional>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"

namespace dlscale::model {

HierarchicalRoofline::HierarchicalRoofline(FlopsPerSecond peak, std::vector<MemoryLevel> levels,
                                           Seconds launch, std::vector<ArithmeticCeiling> ceilings)
    : peak_(peak), levels_(std::move(levels)), launch_(launch), ceilings_(std::move(ceilings)) {
  const auto ordered = [](const MemoryLevel& near, const MemoryLevel& far) {
    return near.capacity < far.capacity && near.bandwidth >= far.bandwidth;
  };
  bool valid = !levels_.empty() && peak_.si() > 0 && launch_.si() >= 0;
  for (std::size_t i = 0; valid && i < levels_.size(); ++i) {
    valid = levels_[i].bandwidth.si() > 0 && (i == 0 || ordered(levels_[i - 1], levels_[i]));
  }
  valid = valid && std::ranges::all_of(ceilings_, [&](const ArithmeticCeiling& ceiling) {
            return ceiling.rate.si() > 0 && ceiling.rate <= peak_;
          });
  std::ranges::stable_sort(ceilings_, std::greater{}, &ArithmeticCeiling::rate);
  if (!valid) {
    throw RemediableError(
        "a roofline needs a peak and levels of memory, each larger and no faster than the one "
        "before. Measure them again.",
        {.subject = "memory"});
  }
}

Seconds HierarchicalRoofline::time(Flops flops, std::span<const Bytes> traffic) const {
  EXPECT(traffic.size() == levels_.size());
  Seconds longest = flops / peak_;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    longest = std::max(longest, traffic[i] / levels_[i].bandwidth);
  }
  return longest;
}

FlopsPerSecond HierarchicalRoofline::attainable(std::size_t level, FlopsPerByte intensity) const {
  return std::min(peak_, levels_.at(level).bandwidth * intensity);
}

std::size_t HierarchicalRoofline::farthest_source(FlopsPerSecond executed,
                                                  FlopsPerByte intensity) const {
  std::size_t level = levels_.size() - 1;
  while (level > 0 && executed > attainable(level, intensity)) --level;
  return level;
}

std::size_t HierarchicalRoofline::level_of(Bytes working_set) const {
  const auto found = std::find_if(levels_.begin(), levels_.end(), [&](const MemoryLevel& level) {
    return working_set <= level.capacity;
  });
  return found == levels_.end() ? levels_.size() - 1
                                : static_cast<std::size_t>(found - levels_.begin());
}

Seconds HierarchicalRoofline::time_based(const Work& work, Bytes working_set) const {
  const MemoryLevel& level = levels_[level_of(working_set)];
  return Roofline{peak_, level.bandwidth}.time(work) + launch_;
}

}  // namespace dlscale::model
