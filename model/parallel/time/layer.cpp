#include "model/parallel/time/layer.hpp"

#include <algorithm>

#include "model/parallel/time/attention.hpp"
#include "model/parallel/time/elementwise.hpp"
#include "model/parallel/time/layer_messages.hpp"
#include "model/parallel/time/layer_products.hpp"

namespace dlscale::model::parallel_time {
namespace {

using parallel::Recompute;

constexpr double backward_gaps = 1.8;  ///< kernels of backward over those of forward

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

double attention_weights(const memory::TransformerShape& shape) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto heads = static_cast<double>(shape.heads);
  if (!shape.latent) {
    return hidden * static_cast<double>(shape.head_width) *
           (2 * heads + 2 * static_cast<double>(shape.kv_heads));
  }
  const memory::LatentAttention& latent = *shape.latent;
  const auto query_rank = static_cast<double>(latent.query_rank);
  const auto key_rank = static_cast<double>(latent.key_value_rank);
  const auto turned = static_cast<double>(latent.turned_width);
  const auto plain = static_cast<double>(latent.plain_width);
  const auto value = static_cast<double>(latent.value_width);
  return hidden * (query_rank + key_rank + turned) + query_rank * heads * (plain + turned) +
         key_rank * heads * (plain + value) + heads * value * hidden;
}

}  // namespace

double layer_parameters(const memory::TransformerShape& shape, const PlanSizes& plan) {
  const double attention = attention_weights(shape);
  const double each = (shape.gated ? 3.0 : 2.0) * static_cast<double>(shape.hidden);
  const double dense = attention + each * static_cast<double>(shape.ffn);
  if (!shape.experts) return dense / plan.tensor;
  const memory::ExpertShape& experts = *shape.experts;
  const double routed = attention + each * (static_cast<double>(experts.shared_ffn) +
                                            static_cast<double>(experts.ffn) *
                                                static_cast<double>(experts.count) / plan.experts);
  const auto layers = static_cast<double>(shape.layers);
  const auto plain = static_cast<double>(experts.dense_layers);
  return (plain * dense + (layers - plain) * routed) / layers / plan.tensor;
}

Group sharing_group(const PlanSizes& plan) {
  return {plan.sharers(), plan.strides().replicas};
}

double scatter_time(const Collectives& send, const PlanSizes& plan, double bytes) {
  const Group copies{plan.replicas() / plan.sharers(), plan.strides().replicas * plan.sharers()};
  return send.all_gather(sharing_group(plan), bytes) +
         send.all_reduce(copies, bytes / plan.sharers());
}

LayerTime layer_time(const Setting& setting, const PlanSizes& plan) {
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
      layer_calls(*setting.family, setting.shape, plan, setting.rates.has_few_bits());
  time.host = PassTime{host_time(constants, *setting.family, plan, calls.forward),
                       host_time(constants, *setting.family, plan, calls.backward)} +
              mixed_queue(setting, plan);
  const double gap = calls.forward.launches * constants.gap;
  PassTime gaps{gap, backward_gaps * gap};
  compute_again(time, gaps, products, plan);
  time.device += gaps;
  time.layer = {
      slower_of(constants, time.device.forward + time.messages.forward, time.host.forward),
      slower_of(constants, time.device.backward + time.messages.backward, time.host.backward)};

  time.parameters = layer_parameters(setting.shape, plan);
  time.gather = setting.collectives.all_gather(sharing_group(plan), 2 * time.parameters);
  time.scatter = scatter_time(setting.collectives, plan, plan.gradient_bytes * time.parameters);
  if (plan.sharded_weights && plan.replicas() > 1 && plan.stages == 1) {
    const double interference = constants.interference;
    time.layer = {beside(time.layer.forward, time.gather, interference),
                  beside(time.layer.backward, time.gather + time.scatter, interference)};
  }
  return time;
}

}  // namespace dlscale::model::parallel_time
