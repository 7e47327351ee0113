#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/plan.hpp"
#include "model/parallel/search/framework_ways.hpp"

namespace dlscale::report {

/// Sizes of a training that launch options name beside the plan.
struct LaunchSizes {
  std::int64_t layers = 1;
  std::int64_t global_batch = 1;
  std::int64_t sequence = 1;
  bool async_tensor = false;
};

/// The plan as a framework's own command line or file says it, line by line: arguments of
/// Megatron-LM; lines of DeepSpeed's JSON, after those of Python that JSON has no words for; of
/// torchtitan's TOML; of nanotron's YAML. Names are those of the versions that
/// docs/explanation/parallel-search.md states. Requires a plan that the framework runs.
std::vector<std::string> launch_options(const model::parallel_search::FrameworkWays& ways,
                                        const parallel::ParallelPlan& plan,
                                        const LaunchSizes& sizes);

}  // namespace dlscale::report
