#include "model/parallel/answer/fit_chance.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/normal_distribution.hpp"

namespace dlscale::model::parallel_time {

FitQuestion fit_question(const memory::RankMemory& memory, double device_bytes) {
  const int stage = memory.worst(memory::MemoryCounter::device).stage;
  return {stage, memory.peak(stage, memory::MemoryCounter::device), device_bytes};
}

double chance_of(const FitQuestion& question) {
  constexpr double narrowest = 1e-9;
  const memory::MemoryEstimate& need = question.need;
  const double distance = std::log(question.device_bytes / need.bytes);
  const double width =
      distance < 0 ? std::log(need.bytes / need.low) : std::log(need.high / need.bytes);
  const double deviation = std::max(width, narrowest) / normal_quantile_95;
  return normal_share_below(distance / deviation);
}

}  // namespace dlscale::model::parallel_time
