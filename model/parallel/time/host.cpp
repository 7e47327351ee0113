#include "model/parallel/time/host.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::model::parallel_time {
namespace {

constexpr double whole_node = 3;  ///< log2 of 8 hosts, to which host_collective refers

}  // namespace

LayerCalls layer_calls(const TimeConstants& constants, const Family& family,
                       const memory::TransformerShape& shape, const PlanSizes& plan,
                       bool has_few_bits) {
  const bool is_split = plan.tensor > 1;
  LayerCalls calls;
  const bool has_pieces = plan.tensor_overlap == TensorOverlap::pieces;
  double launches = family.work(plan.compiled).launches;
  if (is_split && has_pieces) launches += constants.async_launches;
  if (has_few_bits) launches += constants.cast_launches;
  if (shape.experts) launches += constants.expert_launches;
  calls.forward.launches = launches;
  calls.backward.launches = constants.backward_launches * launches;
  double both = 0;
  if (shape.experts && plan.experts > 1) both += 2;
  if (plan.context > 1) both += 1;
  double forward = 0;
  double backward = 0;
  if (is_split) {
    forward = plan.sequence_parallel ? 4 : 2;
    backward = plan.sequence_parallel ? (has_pieces ? 6 : 5) : 2;
  }
  calls.forward.collectives = forward + both + (plan.sharded_weights ? 1 : 0);
  calls.backward.collectives = backward + both + (plan.sharded_weights ? 2 : 0);
  return calls;
}

double host_time(const TimeConstants& constants, const PlanSizes& plan, const HostCalls& calls) {
  const bool has_others = plan.sharded_weights || plan.experts > 1 || plan.context > 1;
  const double meet =
      std::max(std::log2(std::max(plan.tensor, 2.0)), has_others ? 1.0 : 0.0) / whole_node;
  const double factor = plan.compiled ? constants.compiled_host : 1;
  return factor *
         (calls.launches * constants.launch + calls.collectives * constants.host_collective * meet);
}

double slower_of(const TimeConstants& constants, double device, double host) {
  const double greater = std::max(device, host);
  if (greater <= 0) return 0;
  const double ratio = std::min(device, host) / greater;
  return greater * std::pow(1 + std::pow(ratio, constants.host_power), 1 / constants.host_power);
}

}  // namespace dlscale::model::parallel_time
