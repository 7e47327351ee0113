#include "model/parallel/timeline/layer_parts.hpp"

#include <algorithm>

#include "model/parallel/time/layer_messages.hpp"

namespace dlscale::model::parallel_time {
namespace {

PassParts pass_parts(const TimeConstants& constants, double kernels, double host, double pass) {
  const double alone = slower_of(constants, kernels, host);
  return {kernels, std::max(0.0, alone - kernels), std::max(0.0, pass - alone), 0};
}

/// Seconds that backward would save without gradients of weights. Messages then run under the other
/// products alone.
double weights_time(const Setting& setting, const PlanSizes& plan, const LayerTime& layer) {
  const PassTime all = layer.qkv + layer.projection + layer.feed_forward;
  const PassTime others{all.forward, all.backward / 2};
  const double messages =
      layer_messages(setting, plan, layer_sizes(setting.shape, plan), others, layer.attention,
                     others + layer.attention + layer.elementwise)
          .total()
          .backward;
  const double device = layer.device.backward - others.backward;
  const double whole = slower_of(setting.constants, layer.device.backward + layer.messages.backward,
                                 layer.host.backward);
  return std::max(0.0, whole - slower_of(setting.constants, device + messages,
                                         setting.constants.other_launches * layer.host.backward));
}

}  // namespace

LayerParts layer_parts(const Setting& setting, const PlanSizes& plan, const LayerTime& time) {
  PlanSizes keeping = plan;
  keeping.recompute = parallel::Recompute::none;
  const LayerTime kept =
      plan.recompute == parallel::Recompute::none ? time : layer_time(setting, keeping);
  const TimeConstants& constants = setting.constants;
  LayerParts parts;
  parts.forward = pass_parts(constants, time.device.forward, time.host.forward, time.layer.forward);
  parts.backward =
      pass_parts(constants, kept.device.backward, kept.host.backward, kept.layer.backward);
  parts.backward.recompute = std::max(0.0, time.layer.backward - kept.layer.backward);
  parts.weights = weights_time(setting, keeping, kept);
  return parts;
}

}  // namespace dlscale::model::parallel_time
