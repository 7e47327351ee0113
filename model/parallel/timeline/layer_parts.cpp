#include "model/parallel/timeline/layer_parts.hpp"

#include <algorithm>

namespace dlscale::model::parallel_time {
namespace {

/// Launches of backward that make no gradients of weights: all but four or five of some fifty.
constexpr double other_launches = 0.9;

PassParts pass_parts(const TimeConstants& constants, double kernels, double host, double pass) {
  const double alone = slower_of(constants, kernels, host);
  return {kernels, std::max(0.0, alone - kernels), std::max(0.0, pass - alone), 0};
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
  const double products = kept.qkv.backward + kept.projection.backward + kept.feed_forward.backward;
  const double sent = kept.device.backward + kept.messages.backward;
  parts.weights = slower_of(constants, sent, kept.host.backward) -
                  slower_of(constants, sent - products / 2, other_launches * kept.host.backward);
  return parts;
}

}  // namespace dlscale::model::parallel_time
