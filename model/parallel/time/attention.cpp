#include "model/parallel/time/attention.hpp"

#include <algorithm>
#include <cmath>

namespace dlscale::model::parallel_time {
namespace {

constexpr double block = 128;          ///< rows of scores that a kernel keeps [arXiv:2307.08691]
constexpr double least_width = 32;     ///< of a head; bounds what narrower ones lose
constexpr double backward_work = 2.5;  ///< five products for two [arXiv:2307.08691]

PassTime in_memory(const DeviceRates& rates, const TimeConstants& constants,
                   const memory::TransformerShape& shape, const PlanSizes& plan) {
  const auto length = static_cast<double>(shape.sequence);
  const auto width = static_cast<double>(shape.head_width);
  const double heads = plan.micro_batch * static_cast<double>(shape.heads) / plan.tensor;
  const double products = product_time(rates, rates.whole, length, length, width, heads) +
                          product_time(rates, rates.whole, length, width, length, heads);
  const double pass = rates.element_bytes * heads * length * length / plan.context *
                      constants.elementwise / rates.memory;
  constexpr double forward = 4.5;  // passes of mask, softmax and dropout over scores [derived]
  constexpr double backward = 5.5;
  return {products + forward * pass, 2 * products + backward * pass};
}

}  // namespace

AttentionKernel kernel_on(AttentionKernel kernel, double capability, bool asks_for_fused) {
  if (kernel == AttentionKernel::in_memory && asks_for_fused) kernel = AttentionKernel::flash2;
  if (kernel == AttentionKernel::flash2 && capability >= blackwell_capability)
    return AttentionKernel::native;
  return kernel;
}

PassTime attention_time(const DeviceRates& rates, const TimeConstants& constants,
                        AttentionKernel kernel, const memory::TransformerShape& shape,
                        const PlanSizes& plan, const LayerSizes& sizes) {
  if (kernel == AttentionKernel::in_memory) return in_memory(rates, constants, shape, plan);
  double share = constants.attention_native;
  double narrow = constants.narrow_native;
  if (kernel != AttentionKernel::native) {
    const bool is_first = kernel == AttentionKernel::triton;
    share = (is_first ? constants.attention_triton : constants.attention_flash2) *
            std::pow(rates.relative_flops, -constants.attention_fall);
    narrow = is_first ? 0 : constants.narrow_flash2;
  }
  const auto length = static_cast<double>(shape.sequence);
  const double slowness =
      1 + narrow * std::sqrt(rates.relative_flops) / std::max(sizes.key_head, least_width);
  const double flops =
      plan.micro_batch * length * length * (sizes.query + sizes.value) / plan.tensor / plan.context;
  const double forward =
      flops * (1 + block / length) * slowness / (rates.facts.half_peak * share * rates.power);
  return {forward, backward_work * forward};
}

}  // namespace dlscale::model::parallel_time
