#include "model/parallel/stages/slowest_copy.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <vector>

#include "core/parallel/grid.hpp"
#include "model/parallel/pipeline/makespans.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

/// The device of each rank of a pipeline: a number of its own.
std::vector<int> devices_of_ranks(const Machine& machine, const Run& run,
                                  const parallel::ParallelPlan& plan) {
  const parallel::Grid grid(plan);
  std::vector<int> devices;
  for (int stage = 0; stage < plan.stages; ++stage) {
    parallel::Coordinates place{};
    along(parallel::Axis::stages, place) = stage;
    const bool by_node = machine.cluster.device.kind == DeviceKind::cpu;
    devices.push_back(by_node ? grid.rank(place) / run.ranks_per_node : stage);
  }
  return devices;
}

/// By device: the share of a small slow-down of it by which the iteration becomes longer.
std::vector<double> shares_of_devices(const parallel::PipelineSchedule& schedule,
                                      const parallel::PipelineShape& shape, PipelineCosts costs,
                                      const std::vector<int>& devices, bool carries_messages) {
  constexpr double slower = 0.01;
  constexpr double most_simulated = 3e6;  // pieces of all simulations, a fraction of a second
  costs.update.clear();
  std::map<int, std::vector<std::size_t>> parts;
  for (std::size_t part = 0; part < costs.forward.size(); ++part) {
    parts[devices[part % devices.size()]].push_back(part);
  }
  const Makespans makespans(schedule, shape, most_simulated / static_cast<double>(parts.size()));
  const Seconds usual = makespans.of(costs);
  std::vector<double> shares;
  for (const auto& [device, own] : parts) {
    PipelineCosts changed = costs;
    for (const std::size_t part : own) {
      changed.forward[part] = (1 + slower) * changed.forward[part];
      changed.backward[part] = (1 + slower) * changed.backward[part];
      if (!carries_messages || part >= changed.boundary.size()) continue;
      changed.boundary[part] = (1 + slower) * changed.boundary[part];
    }
    shares.push_back((makespans.of(changed) / usual - 1) / slower);
  }
  return shares;
}

}  // namespace

double slowest_copy(const Network& network, const Machine& machine, const Run& run,
                    const parallel::ParallelPlan& plan, const parallel::PipelineSchedule& schedule,
                    const parallel::PipelineShape& shape, const PipelineCosts& costs) {
  if (machine.fitted || run.ranks == 1) return 1;
  const std::vector<int> devices = devices_of_ranks(machine, run, plan);
  const bool on_cpu = machine.cluster.device.kind == DeviceKind::cpu;
  std::vector<double> shares{1};
  if (plan.stages > 1) shares = shares_of_devices(schedule, shape, costs, devices, on_cpu);
  double sum = 0;
  double squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  const double beside = std::max(1.0, sum);
  const int slowest_of =
      std::max(1, static_cast<int>(std::lround(plan.data * plan.context * beside)));
  const Placement place{slowest_of, std::min(slowest_of, run.ranks_per_node)};
  const double waiting = sheet_delays(machine, place, network).waiting;
  return 1 + waiting * std::sqrt(squares / beside);
}

}  // namespace dlscale::model
