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
  std::string dtype = "bf16";  ///< as --dtype names it
  /// Traits of the family that was timed: what runs under computing needs an option to do so.
  bool hides_gradients = false;
  bool hides_gathers = false;    ///< of weights, under the next forward pass
  bool overlaps_tensor = false;  ///< messages of tensors, under products
  bool hides_experts = false;    ///< messages to experts, under other micro-batches
  bool compiled = false;
};

/// The plan as a framework's own command line or file says it, line by line: arguments of
/// Megatron-LM; lines of DeepSpeed's JSON, after those of Python that JSON has no words for; of
/// torchtitan's TOML; of nanotron's YAML. Names are those of the versions that
/// docs/explanation/parallel-search.md states. They name the precision, and all overlap that the
/// time takes for granted and the framework has an option for. Requires a plan that the framework
/// runs.
std::vector<std::string> launch_options(const model::parallel_search::FrameworkWays& ways,
                                        const parallel::ParallelPlan& plan,
                                        const LaunchSizes& sizes);

}  // namespace dlscale::report
