#include "model/parallel/answer/fit_chance.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::model::parallel_time {

FitQuestion fit_question(const memory::RankMemory& memory, double device_bytes) {
  const int stage = memory.worst(memory::MemoryCounter::device).stage;
  return {stage, memory.peak(stage, memory::MemoryCounter::device), device_bytes};
}

double chance_of(const FitQuestion& question) {
  constexpr double quantile_95 = 1.6448536269514722;  // of the normal distribution
  constexpr double narrowest = 1e-9;
  constexpr double root_half = 0.70710678118654752;
  const memory::MemoryEstimate& need = question.need;
  const double distance = std::log(question.device_bytes / need.bytes);
  const double width =
      distance < 0 ? std::log(need.bytes / need.low) : std::log(need.high / need.bytes);
  const double deviation = std::max(width, narrowest) / quantile_95;
  return 0.5 * std::erfc(-distance / deviation * root_half);
}

}  // namespace dlscale::model::parallel_time
