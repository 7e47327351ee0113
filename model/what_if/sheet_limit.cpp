#include "model/what_if/sheet_limit.hpp"

#include <algorithm>

#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "model/machine/machine.hpp"
#include "model/roofline/sheet/arithmetic.hpp"
#include "model/roofline/sheet/products.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

Seconds all_reduce(Cluster cluster, const Placement& placement, Bytes gradients) {
  if (placement.ranks == 1) return {};
  cluster.all_reduce = AllReduceRule::quickest;
  return quickest(nominal_all_reduces(cluster, placement), gradients).cost(gradients);
}

/// How many times fewer multiplications a step takes by minimal filtering (Winograd); 1 where it
/// does not apply, as on tensor cores.
double saved_by_filtering(const Network& network, Step step, const Device& device, const Run& run) {
  if (!device.units || sheet::arithmetic_in(device, run.dtype).size() > 1) return 1;
  double saved = 1;
  for (const sheet::Product& product : sheet::products_of(network, step, run.batch)) {
    saved = std::max(saved, product.winograd);
  }
  return saved;
}

}  // namespace

double sheet_limit(const Network& asked, const Cluster& cluster, const Run& run) {
  const Network network = as_run(asked, run);
  Notes of_prediction;  // which has the same
  const Roofline roofline = data_sheet(cluster, run.dtype, of_prediction);
  const auto pass = [&](const std::vector<Step>& steps) {
    Seconds sum;
    for (const Step step : steps) {
      Work least = work(network, step, run.batch, run.dtype);
      least.flops = (1 / saved_by_filtering(network, step, cluster.device, run)) * least.flops;
      sum += roofline.time(least);
    }
    return sum;
  };
  const Bytes parameters(f32_bytes * static_cast<double>(network.parameter_count()));
  const Machine machine = nominal_machine(cluster);
  const Seconds update = nearest(machine.update, Conditions(run)).cost.time(parameters).value;
  const Seconds messages = all_reduce(cluster, {run.ranks, run.ranks_per_node}, parameters);
  const Seconds step =
      pass(forward_steps(network)) + std::max(pass(backward_steps(network)), messages) + update;
  return static_cast<double>(run.ranks) * run.batch * (Seconds(1) / step);
}

}  // namespace dlscale::model
