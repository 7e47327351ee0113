#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/plan.hpp"

namespace dlscale::app {

/// A plan of --parallel as typed, of at most 10^9 ranks a replica.
struct AskedPlan {
  parallel::ParallelPlan plan;
  bool states_data = false;
  std::int64_t replica = 1;  ///< ranks of one

  /// The plan on so many ranks, which its replicas fill unless it states them. Throws ConfigError.
  [[nodiscard]] parallel::ParallelPlan on(int ranks) const;
};

/// Reads a plan. Throws ConfigError, also for axes without ranks.
AskedPlan asked_plan(const std::string& text);

/// The numbers of ranks of a plan: those asked for by --ranks, or those that it states. Throws
/// ConfigError.
std::vector<int> ranks_of(const AskedPlan& plan, const std::vector<std::string>& asked);

/// The greatest number of ranks of all plans. Throws ConfigError.
int most_gpus(const std::vector<AskedPlan>& plans, const std::vector<std::string>& asked);

}  // namespace dlscale::app
