#include "model/parallel/answer/step_parts.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace dlscale::model::parallel_time {
namespace {

std::string messages_in_layers(const PlanSizes& plan) {
  const int kinds =
      (plan.tensor > 1 ? 1 : 0) + (plan.context > 1 ? 1 : 0) + (plan.experts > 1 ? 1 : 0);
  if (kinds != 1) return "messages in layers";
  if (plan.tensor > 1) return "tensor messages";
  return plan.context > 1 ? "context messages" : "expert messages";
}

}  // namespace

StepParts step_parts(const Setting& setting, const ParallelAnswer& answer) {
  const IterationTime& time = answer.time;
  const LayerTime& layer = time.layer;
  const double layers = answer.sizes.micro_batches * time.busiest_layers;
  const double slowest = answer.sizes.micro_batches * time.slowest_stage;
  const auto slower = [&](double device, double host) {
    return slower_of(setting.constants, device, host);
  };
  const double alone = slower(layer.device.forward, layer.host.forward) +
                       slower(layer.device.backward, layer.host.backward);
  const double with_messages =
      slower(layer.device.forward + layer.messages.forward, layer.host.forward) +
      slower(layer.device.backward + layer.messages.backward, layer.host.backward);
  StepParts parts;
  parts.messages = std::clamp(layers * (with_messages - alone), 0.0, slowest);
  const double gathers =
      std::clamp(layers * (layer.layer.total() - with_messages), 0.0, slowest - parts.messages);
  parts.compute = slowest - parts.messages - gathers;
  parts.bubble = std::max(0.0, time.pipeline - slowest);
  parts.gradients = time.exposed_gradients + gathers;
  parts.update = time.update;
  const double factor = time.total / parts.total();
  for (double* part :
       {&parts.compute, &parts.messages, &parts.bubble, &parts.gradients, &parts.update}) {
    *part *= factor;
  }
  parts.waits = answer.seconds() - time.total;
  parts.is_host_bound = layer.host.total() > layer.device.total();
  return parts;
}

std::string bound_of(const StepParts& parts, const PlanSizes& plan) {
  const std::array<std::pair<double, std::string>, 6> causes{
      {{parts.compute, parts.is_host_bound ? "host" : "compute"},
       {parts.messages, messages_in_layers(plan)},
       {parts.bubble, "bubble"},
       {parts.gradients, "gradients"},
       {parts.update, "update"},
       {parts.waits, "memory"}}};
  return std::ranges::max_element(causes, {}, &std::pair<double, std::string>::first)->second;
}

}  // namespace dlscale::model::parallel_time
