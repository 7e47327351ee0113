#include "model/sgd_iter/peak_share.hpp"

#include <algorithm>
#include <variant>

#include "core/network/step.hpp"

namespace dlscale::model {
namespace {

/// Multiplications of a pass over a sample that every algorithm needs.
double least_products(const Layer& layer) {
  const auto direct = static_cast<double>(layer.forward_macs());
  if (const auto* filter = std::get_if<Convolution>(&layer.kind)) {
    return direct / (filter->kernel_h * filter->kernel_w);
  }
  if (const auto* filter = std::get_if<TransposedConvolution>(&layer.kind)) {
    return direct / (filter->kernel * filter->kernel);
  }
  const bool is_product = std::holds_alternative<FullyConnected>(layer.kind) ||
                          std::holds_alternative<Linear>(layer.kind);
  return is_product ? direct : 0;
}

/// Operations of an iteration for one sample.
double least_operations(const Network& network) {
  double products = 0;
  for (const Step& step : forward_steps(network)) {
    products += least_products(network.layer(step.layer));
  }
  for (const Step& step : backward_steps(network)) {
    if (step.pass == Pass::accumulate) continue;
    products += least_products(network.layer(step.layer));
  }
  return 2 * products;  // each with an addition
}

FlopsPerSecond peak_of(const Device& device, DType dtype) {
  FlopsPerSecond most;
  const auto take = [&](DType one) {
    const auto peak = device.peak.find(one);
    if (peak != device.peak.end()) most = std::max(most, peak->second);
  };
  take(dtype);
  if (dtype == DType::f32) take(DType::tf32);
  return most;
}

}  // namespace

double least_peak_share(const Network& network, const Machine& machine, const Run& run,
                        double samples, Seconds time) {
  const FlopsPerSecond peak = peak_of(machine.cluster.device, run.dtype);
  if (peak == FlopsPerSecond()) return 0;
  const double share_of_device =
      std::min(1.0, static_cast<double>(machine.cluster.devices_per_node) / run.ranks_per_node);
  const double devices = run.ranks * share_of_device;
  return samples * least_operations(network) / (time.si() * peak.si() * devices);
}

}  // namespace dlscale::model
