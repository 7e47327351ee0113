#include "model/parallel/explain/step_losses.hpp"

#include <algorithm>

#include "model/parallel/time/layer_messages.hpp"
#include "model/parallel/timeline/layer_parts.hpp"
#include "model/parallel/timeline/part_costs.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr double least_shown = 1e-6;  ///< of the iteration

/// Seconds of a layer forward and backward.
struct LayerSeconds {
  double products = 0;
  double attention = 0;
  double elementwise = 0;
  double gaps = 0;
  double host = 0;
  double tensor = 0;
  double context = 0;
  double experts = 0;
  double gathers = 0;  ///< of weights
  double recompute = 0;
  [[nodiscard]] double total() const {
    return products + attention + elementwise + gaps + host + tensor + context + experts + gathers +
           recompute;
  }
};

/// Time that a pass takes longer by messages within the layer, without gathers of weights.
double with_messages(const TimeConstants& constants, double device, double messages, double host) {
  return slower_of(constants, device + messages, host) - slower_of(constants, device, host);
}

void add_messages(const Setting& setting, const PlanSizes& plan, const LayerTime& kept,
                  double exposed, LayerSeconds& layer) {
  const PassTime products = kept.qkv + kept.projection + kept.feed_forward;
  const LayerMessages sent =
      layer_messages(setting, plan, layer_sizes(setting.shape, plan), products, kept.attention,
                     products + kept.attention + kept.elementwise);
  const double all = sent.total().total();
  if (all <= 0) return;
  layer.tensor = exposed * sent.tensor.total() / all;
  layer.context = exposed * sent.context.total() / all;
  layer.experts = exposed * sent.experts.total() / all;
}

LayerSeconds layer_seconds(const Setting& setting, const PlanSizes& plan, const LayerTime& time) {
  PlanSizes keeping = plan;
  keeping.recompute = parallel::Recompute::none;
  const LayerTime kept = layer_time(setting, keeping);
  const LayerParts parts = layer_parts(setting, plan, time);
  LayerSeconds layer;
  layer.products = (kept.qkv + kept.projection + kept.feed_forward).total();
  layer.attention = kept.attention.total();
  layer.elementwise = kept.elementwise.total();
  layer.gaps =
      std::max(0.0, kept.device.total() - layer.products - layer.attention - layer.elementwise);
  layer.host = parts.forward.host + parts.backward.host;
  layer.recompute = parts.backward.recompute;
  const double messages = parts.forward.messages + parts.backward.messages;
  const double within =
      std::min(messages, with_messages(setting.constants, kept.device.forward,
                                       kept.messages.forward, kept.host.forward) +
                             with_messages(setting.constants, kept.device.backward,
                                           kept.messages.backward, kept.host.backward));
  add_messages(setting, plan, kept, within, layer);
  layer.gathers = std::max(0.0, messages - layer.tensor - layer.context - layer.experts);
  return layer;
}

/// Seconds that a pipeline would save without messages between stages.
double stage_messages(const Setting& setting, const ParallelAnswer& answer) {
  const IterationTime& time = answer.time;
  if (!is_simulated(answer.sizes, answer.plan)) return time.stage_messages;
  IterationTime without = time;
  without.stage_message = 0;
  const auto seconds = [&](const IterationTime& of) {
    return simulated_pipeline(setting, answer.sizes, answer.plan, of).si();
  };
  return time.pipeline * (1 - seconds(without) / seconds(time));
}

std::vector<StepPart> unmeasured_losses(const Setting& setting, const ParallelAnswer& answer) {
  const IterationTime& time = answer.time;
  const PlanSizes& plan = answer.sizes;
  const LayerSeconds layer = layer_seconds(setting, plan, time.layer);
  const double m = plan.micro_batches;
  const double layers = m * static_cast<double>(setting.shape.layers) / plan.stages;
  const double tables = m * (time.embedding + time.head) / plan.stages;
  const double mean = layers * layer.total() + tables;
  const double messages = stage_messages(setting, answer);
  double uneven = std::max(0.0, m * time.slowest_stage - mean);
  double fill = time.pipeline - mean - uneven - messages;
  if (fill < 0) {
    uneven += fill;
    fill = 0;
  }
  const double before = time.pipeline + time.exposed_gradients + time.update;
  using enum StepKind;
  std::vector<StepPart> parts{{"products", computing, layers * layer.products},
                              {"attention", computing, layers * layer.attention},
                              {"element-wise work", computing, layers * layer.elementwise},
                              {"recomputation", computing, layers * layer.recompute},
                              {"embedding and head", computing, tables},
                              {"update", computing, time.update},
                              {"gaps between kernels", overhead, layers * layer.gaps},
                              {"waits for the host", overhead, layers * layer.host},
                              {"tensor messages", overhead, layers * layer.tensor},
                              {"context messages", overhead, layers * layer.context},
                              {"expert messages", overhead, layers * layer.experts},
                              {"gathers of weights", overhead, layers * layer.gathers},
                              {"messages between stages", overhead, messages},
                              {"fill and drain of the pipeline", overhead, fill},
                              {"uneven stages", overhead, uneven},
                              {"exchange of gradients", overhead, time.exposed_gradients},
                              {"stragglers", overhead, time.total - before},
                              {"waits for memory", overhead, answer.seconds() - time.total}};
  std::erase_if(parts,
                [&](const StepPart& part) { return part.seconds < least_shown * time.total; });
  return parts;
}

}  // namespace

std::vector<StepPart> step_losses(const Setting& setting, const ParallelAnswer& answer) {
  ParallelAnswer unmeasured = answer;
  unmeasured.time = stretched(answer.time, 1 / setting.measured_factor);
  std::vector<StepPart> parts = unmeasured_losses(setting, unmeasured);
  for (StepPart& part : parts) part.seconds *= setting.measured_factor;
  return parts;
}

}  // namespace dlscale::model::parallel_time
