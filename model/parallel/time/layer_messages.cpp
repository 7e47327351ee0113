#include "model/parallel/time/layer_messages.hpp"

#include <algorithm>

namespace dlscale::model::parallel_time {
namespace {

constexpr double ring_interference = 0.15;  ///< of what hides under attention
constexpr double ring_step = 20e-6;         ///< seconds to begin one

/// Messages that nothing hides, and the computing that others run under.
struct Exposed {
  PassTime messages = {};
  PassTime covered = {};
};

double least(double one, double other) {
  return std::min(one, other);
}

Exposed tensor_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                        const PassTime& products) {
  if (plan.tensor <= 1) return {};
  const Group group{plan.tensor, plan.strides().tensor};
  const double bytes = sizes.tokens * sizes.hidden * setting.rates.element_bytes;
  PassTime sent;
  if (plan.sequence_parallel) {
    const double gather = setting.collectives.all_gather(group, bytes);
    sent = {4 * gather, (plan.async_tensor ? 6 : 5) * gather};
  } else {
    const double reduce = setting.collectives.all_reduce(group, bytes);
    sent = {2 * reduce, 2 * reduce};
  }
  double hidden = plan.async_tensor ? setting.constants.hidden_async : 0;
  if (setting.family->overlaps) hidden = setting.constants.hidden_engine;
  if (hidden == 0) return {sent, {}};
  const PassTime covered{least(sent.forward, products.forward),
                         least(sent.backward, products.backward)};
  return {sent + -hidden * covered, covered};
}

PassTime expert_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                         const PassTime& left) {
  if (!setting.shape.experts) return {};
  const auto active = static_cast<double>(setting.shape.experts->active);
  const double bytes = sizes.tokens / plan.token_ranks() * active * sizes.hidden *
                       setting.rates.element_bytes * setting.constants.imbalance;
  const bool overlaps = setting.family->overlaps;
  const double sent = 2 * sizes.expert_share *
                      setting.collectives.all_to_all({plan.experts, 1}, bytes, active, overlaps);
  double hidden = overlaps ? setting.constants.hidden_experts : 0;
  if (plan.both_directions) hidden = setting.constants.hidden_dual;
  return {sent - hidden * least(sent, left.forward), sent - hidden * least(sent, left.backward)};
}

Exposed context_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                         const PassTime& attention) {
  if (plan.context <= 1) return {};
  const Collectives& collectives = setting.collectives;
  const double link = plan.strides().context * plan.context <= collectives.links().node_gpus
                          ? collectives.inside()
                          : std::min(collectives.inside(), collectives.across());
  const double steps = plan.context - 1;
  const double sent =
      sizes.tokens * 2 * sizes.key / plan.tensor * setting.rates.element_bytes * steps / link;
  const PassTime covered{least(sent, attention.forward), least(2 * sent, attention.backward)};
  const auto exposed = [&](double ring, double under, double start) {
    return ring - under + ring_interference * under + steps * start;
  };
  return {{exposed(sent, covered.forward, ring_step),
           exposed(2 * sent, covered.backward, 2 * ring_step)},
          covered};
}

}  // namespace

LayerMessages layer_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                             const PassTime& products, const PassTime& attention,
                             const PassTime& device) {
  const Exposed tensor = tensor_messages(setting, plan, sizes, products);
  const Exposed context = context_messages(setting, plan, sizes, attention);
  const PassTime left = device + -1 * (tensor.covered + context.covered);
  return {tensor.messages, context.messages, expert_messages(setting, plan, sizes, left)};
}

double table_message(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes) {
  if (plan.tensor <= 1) return 0;
  const Group group{plan.tensor, plan.strides().tensor};
  const double bytes = sizes.tokens * sizes.hidden * setting.rates.element_bytes;
  return plan.sequence_parallel ? 2 * setting.collectives.all_gather(group, bytes)
                                : setting.collectives.all_reduce(group, bytes);
}

}  // namespace dlscale::model::parallel_time
