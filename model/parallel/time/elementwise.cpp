#include "model/parallel/time/elementwise.hpp"

namespace dlscale::model::parallel_time {

PassTime elementwise_time(const DeviceRates& rates, const TimeConstants& constants,
                          const Family& family, const memory::TransformerShape& shape,
                          const PlanSizes& plan, const LayerSizes& sizes) {
  const double row = sizes.hidden / plan.token_ranks();
  const double copied = (sizes.query + 2 * sizes.key + sizes.value) / 4 / plan.tensor;
  const double gate = shape.gated ? 1 : 0;
  const double pass = rates.element_bytes * sizes.tokens / rates.memory;
  const StepWork& work = family.work(plan.compiled);
  const auto elements = [&](double norms, double copies, double activation) {
    return norms * row + copies * copied + (activation + gate) * sizes.inner;
  };
  PassTime time{pass * constants.elementwise *
                    elements(work.norms.forward, work.copies.forward, work.activation.forward),
                pass * constants.elementwise *
                    elements(work.norms.backward, work.copies.backward, work.activation.backward)};
  if (shape.experts) {
    const double ordered = 4 * pass * row * static_cast<double>(shape.experts->active);
    time += {ordered, ordered};
  }
  if (rates.has_few_bits()) {
    const double bytes =
        family.fuses_casts(plan.compiled) ? constants.fused_casts : constants.casts;
    const double heads = static_cast<double>(shape.heads) * static_cast<double>(shape.head_width);
    const double cast = bytes * sizes.tokens *
                        (2 * sizes.hidden + heads / plan.tensor + sizes.inner) / rates.memory;
    time += {cast, 1.5 * cast};
  }
  return time;
}

}  // namespace dlscale::model::parallel_time
