#pragma once
#include "model/memory/rank_memory.hpp"

namespace dlscale::model::parallel_time {

/// Memory of the fullest GPU, with libraries, against what it has.
struct FitQuestion {
  int stage = 0;
  memory::MemoryEstimate need = {};
  double device_bytes = 1;
};
FitQuestion fit_question(const memory::RankMemory& memory, double device_bytes);

/// The chance that the training fits. The logarithm of the need is normal on either side of its
/// estimate, with the ends of the 90 % interval as 5 and 95 % quantiles. [derived]
double chance_of(const FitQuestion& question);

}  // namespace dlscale::model::parallel_time
