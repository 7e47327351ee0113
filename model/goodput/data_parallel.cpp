#include "model/goodput/data_parallel.hpp"

#include <algorithm>

#include "core/cluster/device_file.hpp"
#include "core/network/relu_fusion.hpp"
#include "model/sgd_iter/kernels/memory.hpp"

namespace dlscale::model::goodput {
namespace {

/// Weights and states of the optimiser: what memory_need() counts, without gradients and without
/// the 16-bit copies that kernels read.
Bytes checkpoint_size(const Network& network, const Machine& machine, const Run& run) {
  Run in_f32 = run;
  in_f32.dtype = DType::f32;
  const MemoryNeed need = memory_need(network, machine.cluster.device.kind, in_f32,
                                      memory_traits(network, run.dtype, machine.software));
  const Bytes gradients = need.parameters;  // f32 as well
  return need.parameters + need.states - gradients;
}

PhaseShares phase_shares(const IterationTime& time) {
  const double computing = (time.forward + time.backward + time.update) / time.total;
  const double exposed = time.exposed_comm / time.total;
  const double idle = std::max(0.0, 1 - computing - exposed);
  const double all = computing + exposed + idle;
  return {computing / all, exposed / all, idle / all};
}

}  // namespace

CostQuestion data_parallel_question(const Network& network, const Machine& machine,
                                    const Prediction& prediction, double samples) {
  const Cluster& cluster = machine.cluster;
  const Run& run = prediction.run;
  CostQuestion question;
  question.samples_are = network.samples();
  question.iteration = prediction.time.total;
  question.iteration_low =
      std::min(prediction.low.value_or(question.iteration), question.iteration);
  if (question.iteration_low <= Seconds()) question.iteration_low = question.iteration;
  question.iteration_high =
      std::max(prediction.high.value_or(question.iteration), question.iteration);
  question.samples_per_iteration = static_cast<double>(run.ranks) * run.batch;
  question.samples = samples;
  question.devices = run.ranks;
  question.devices_per_node = run.ranks_per_node;
  question.has_gpus = cluster.device.kind == DeviceKind::gpu;
  question.state = checkpoint_size(as_run(network, run), machine, run);
  question.storage = {cluster.storage.read_bandwidth, cluster.storage.shared_by_nodes};
  question.host_link = cluster.host_device.bandwidth;
  question.shares = phase_shares(prediction.time);
  if (question.has_gpus && !cluster.device.sheet.empty()) {
    question.power.board_w = load_device_sheet(cluster.device.sheet).power_w;
  }
  return question;
}

}  // namespace dlscale::model::goodput
