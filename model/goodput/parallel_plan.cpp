#include "model/goodput/parallel_plan.hpp"

#include <algorithm>

#include "core/parallel/plan_text.hpp"
#include "model/memory/transformer_shape.hpp"

namespace dlscale::model::goodput {
namespace {

using parallel_time::ParallelAnswer;
using parallel_time::ParallelQuestion;

double checkpoint_bytes(const ParallelQuestion& question, const ParallelAnswer& answer) {
  const parallel::KeptBytes bytes = parallel::kept_bytes(answer.plan.bytes);
  return memory::parameters(question.shape) *
         (bytes.weights + bytes.master + parallel::moment_bytes(answer.plan));
}

}  // namespace

PhaseShares shares_by_stage(const parallel_time::IterationTime& time, double micro_batches,
                            double seconds) {
  const double messages = time.busiest_layers * time.layer.messages.total();
  const double exposed = (micro_batches * messages + time.exposed_gradients) / seconds;
  const double computing =
      (micro_batches * (time.slowest_stage - messages) + time.update) / seconds;
  const double idle = std::max(0.0, 1 - computing - exposed);
  const double all = computing + exposed + idle;
  return {computing / all, exposed / all, idle / all};
}

CostQuestion parallel_plan_question(const Cluster& cluster, const ParallelQuestion& question,
                                    const parallel_time::ParallelHardware& hardware,
                                    const ParallelAnswer& answer, double tokens) {
  CostQuestion cost;
  cost.title = parallel::to_text(answer.plan);
  cost.iteration = Seconds(answer.seconds());
  cost.iteration_low = Seconds(answer.low());
  cost.iteration_high = Seconds(answer.high());
  cost.samples_per_iteration =
      static_cast<double>(question.global_batch) * static_cast<double>(question.shape.sequence);
  cost.samples = tokens;
  cost.devices = static_cast<int>(hardware.links.gpus);
  cost.devices_per_node = cluster.devices_per_node;
  cost.state = Bytes(checkpoint_bytes(question, answer));
  cost.storage = {cluster.storage.read_bandwidth, cluster.storage.shared_by_nodes};
  cost.host_link = cluster.host_device.bandwidth;
  cost.shares = shares_by_stage(answer.time, answer.sizes.micro_batches, answer.seconds());
  cost.power.board_w = hardware.device.power_w;
  return cost;
}

}  // namespace dlscale::model::goodput
