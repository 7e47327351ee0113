#pragma once
#include <vector>

#include "app/cells/canary.hpp"
#include "app/doctor_findings.hpp"
#include "core/units.hpp"

namespace dlscale::app {

/// What a second of fixed work met.
struct NoiseProbe {
  std::vector<CanaryPair> pairs;  ///< of the same kernel, canary_pairs of them or more
  Seconds time{};                 ///< that it took
  int preemptions = 0;            ///< times the system took the core away for something else
  double stolen = 0;              ///< share of all processors' time that a hypervisor took
};

/// Fixed work in pairs on one thread of this process for about a second.
NoiseProbe probe_noise();

/// Whether like is told from like here, and what came between.
std::vector<Finding> judge_noise(const NoiseProbe& probe);

}  // namespace dlscale::app
