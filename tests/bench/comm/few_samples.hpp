#pragma once
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

inline const Benchmark& comm_benchmark() {
  return *family<Benchmark>().find("comm");
}

/// Exactly that many samples after `warmups` runs.
inline StoppingCriterion exactly(int count, int warmups) {
  StoppingCriterion criterion;
  criterion.min_samples = count;
  criterion.max_samples = count;
  criterion.min_warmup = Seconds(0);
  criterion.min_warmups = warmups;
  return criterion;
}

inline StoppingCriterion few_samples() {
  return exactly(6, 1);
}

/// For tests of what is measured, not of how often.
inline StoppingCriterion one_sample() {
  return exactly(1, 0);
}

}  // namespace dlscale::bench
