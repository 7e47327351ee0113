#include "model/parallel/time/layer.hpp"

#include <algorithm>

#include "model/parallel/time/attention.hpp"
#include "model/parallel/time/elementwise.hpp"
#include "model/parallel/time/layer_messages.hpp"
#include "model/parallel/time/layer_products.hpp"

namespace dlscale::model::parallel_time {
namespace {

using parallel::Recompute;

/// Collectives in a node that queue behind messages of stages, on slow networks.
PassTime mixed_queue(const Setting& setting, const PlanSizes& plan) {
  const Links& links = setting.collectives.links();
  const bool is_mixed = setting.family->one_queue && links.starts_slowly && plan.stages > 1 &&
                        plan.tensor > 1 && links.gpus > links.node_gpus;
  if (!is_mixed) return {};
  const double step = plan.tensor * setting.constants.mixed_queue;
  return {(plan.sequence_parallel ? 4 : 2) * step, (plan.sequence_parallel ? 6 : 2) * step};
}

/// Adds to backward what it computes again.
void compute_again(LayerTime& time, PassTime& gaps, const LayerProducts& products,
                   const PlanSizes& plan) {
  const Recompute recompute = plan.recompute;
  if (recompute == Recompute::full || recompute == Recompute::block) {
    const double share = recompute == Recompute::full ? 1 : plan.recompute_share;
    time.device.backward += share * time.device.forward;
    time.messages.backward += share * time.messages.forward;
    time.host.backward += share * time.host.forward;
    gaps.backward += share * gaps.forward;
  } else if (recompute == Recompute::selective) {
    time.device.backward +=
        plan.sharded_weights
            ? products.projection.forward + 0.5 * products.up_forward + time.elementwise.forward
            : time.attention.forward;
  }
}

/// A pass that runs beside the gathers of its weights.
double beside(double pass, double gathers, double interference) {
  return std::max(pass, gathers) + interference / 2 * std::min(pass, gathers) *
                                       std::min(1.0, gathers / std::max(pass, 1e-12));
}

memory::RankParameters mean_parameters(const memory::TransformerShape& shape,
                                       const PlanSizes& plan) {
  const auto layers = static_cast<double>(shape.layers);
  memory::RankParameters mean =
      memory::layer_parameters(shape, plan.tensor, plan.experts, 0, layers);
  mean.dense /= layers;
  mean.experts /= layers;
  return mean;
}

}  // namespace

PassTime shard_copies(const Setting& setting, double parameters, double gradient_bytes) {
  const TimeConstants& constants = setting.constants;
  constexpr double weight_bytes = 2;  // which its gradient has, before it is cast
  const double cast = gradient_bytes > weight_bytes ? weight_bytes + gradient_bytes : 0;
  const double byte = constants.shard_copies * parameters / setting.rates.memory;
  return {constants.gather_copies * byte,
          (constants.gather_copies + cast + constants.gradient_copies * gradient_bytes) * byte};
}

PassTime sharded_pass(const Setting& setting, const PlanSizes& plan, const PassTime& pass,
                      const memory::RankParameters& parameters) {
  if (!plan.gathers_layers()) return pass;
  const Collectives& send = setting.collectives;
  const double gather = gather_time(send, plan, parameters);
  const double scatter = scatter_time(send, plan, parameters, plan.gradient_bytes);
  const PassTime copied = pass + shard_copies(setting, parameters.total(), plan.gradient_bytes);
  const double interference = setting.constants.interference;
  return {beside(copied.forward, gather, interference),
          beside(copied.backward, gather + scatter, interference)};
}

LayerTime layer_without_gathers(const Setting& setting, const PlanSizes& plan) {
  const TimeConstants& constants = setting.constants;
  const LayerSizes sizes = layer_sizes(setting.shape, plan);
  const LayerProducts products = layer_products(setting, plan, sizes);
  LayerTime time;
  time.qkv = products.qkv;
  time.projection = products.projection;
  time.feed_forward = products.feed_forward;
  time.attention =
      attention_time(setting.rates, constants, setting.attention, setting.shape, plan, sizes);
  time.elementwise =
      elementwise_time(setting.rates, constants, *setting.family, setting.shape, plan, sizes);
  time.device = products.total() + time.attention + time.elementwise;
  time.messages =
      layer_messages(setting, plan, sizes, products.total(), time.attention, time.device).total();

  const LayerCalls calls =
      layer_calls(constants, *setting.family, setting.shape, plan, setting.rates.has_few_bits());
  time.host = PassTime{host_time(constants, plan, calls.forward),
                       host_time(constants, plan, calls.backward)} +
              mixed_queue(setting, plan);
  const double gap = calls.forward.launches * constants.gap;
  PassTime gaps{gap, constants.backward_launches * gap};
  compute_again(time, gaps, products, plan);
  time.device += gaps;
  time.layer = {
      slower_of(constants, time.device.forward + time.messages.forward, time.host.forward),
      slower_of(constants, time.device.backward + time.messages.backward, time.host.backward)};
  time.parameters = mean_parameters(setting.shape, plan);
  return time;
}

LayerTime with_gathers(const Setting& setting, const PlanSizes& plan, LayerTime time) {
  const Collectives& send = setting.collectives;
  time.gather = gather_time(send, plan, time.parameters);
  time.scatter = scatter_time(send, plan, time.parameters, plan.gradient_bytes);
  time.layer = sharded_pass(setting, plan, time.layer, time.parameters);
  return time;
}

LayerTime layer_time(const Setting& setting, const PlanSizes& plan) {
  return with_gathers(setting, plan, layer_without_gathers(setting, plan));
}

}  // namespace dlscale::model::parallel_time
