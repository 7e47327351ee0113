#include "model/parallel/time/layer_messages.hpp"

#include <algorithm>
#include <cmath>

#include "core/parallel/plan.hpp"

namespace dlscale::model::parallel_time {
namespace {

constexpr double weight_bytes = 2;  ///< of a weight that is gathered

/// Messages that nothing hides, and the computing that others run under.
struct Exposed {
  PassTime messages = {};
  PassTime covered = {};
};

double least(double one, double other) {
  return std::min(one, other);
}

/// The part of tensor messages that runs under products, where these are long enough.
double hidden_part(const Setting& setting, const PlanSizes& plan) {
  if (plan.tensor_overlap == TensorOverlap::none) return 0;
  return plan.tensor_overlap == TensorOverlap::buffers ? setting.constants.hidden_engine
                                                       : setting.constants.hidden_async;
}

Exposed tensor_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                        const PassTime& products) {
  if (plan.tensor <= 1) return {};
  const Group group{plan.tensor, plan.strides().tensor};
  const double bytes = sizes.tokens * sizes.hidden * setting.rates.element_bytes;
  PassTime sent;
  if (plan.sequence_parallel) {
    const double gather = setting.collectives.all_gather(group, bytes);
    sent = {4 * gather, (plan.tensor_overlap == TensorOverlap::pieces ? 6 : 5) * gather};
  } else {
    const double reduce = setting.collectives.all_reduce(group, bytes);
    sent = {2 * reduce, 2 * reduce};
  }
  const double hidden = hidden_part(setting, plan);
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
  const bool hides =
      overlaps && parallel::may_hide_expert_messages(plan.recompute, plan.stages, plan.chunks);
  double hidden = hides ? setting.constants.hidden_experts : 0;
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
  const auto exposed = [&](double ring, double under, double begin) {
    return ring - under + setting.constants.ring_interference * under + steps * begin;
  };
  const double start = setting.constants.ring_step;
  return {{exposed(sent, covered.forward, start), exposed(2 * sent, covered.backward, 2 * start)},
          covered};
}

/// The group with those of the stage at the other end, in as many nodes as both lie on. Stages 0
/// and p - 1 lie farthest apart, and a step ends with the slowest.
Group with_mirrored_stage(const Group& one, const PlanSizes& plan, double node_gpus) {
  const double in_node = std::clamp(std::floor(node_gpus / one.stride), 1.0, one.ranks);
  const bool is_apart = (plan.stages - 1) * plan.strides().stages >= node_gpus;
  return {2 * one.ranks, node_gpus / (is_apart ? in_node : 2 * in_node)};
}

WeightGroups groups_of(const PlanSizes& plan, double node_gpus, double ranks, double stride,
                       double sharers) {
  WeightGroups groups{
      {ranks, stride}, {sharers, stride}, {std::max(1.0, ranks / sharers), stride * sharers}};
  if (plan.copies > 1) {
    groups.all = with_mirrored_stage(groups.all, plan, node_gpus);
    groups.copies = with_mirrored_stage(groups.copies, plan, node_gpus);
  }
  return groups;
}

/// The sum of `time_of(groups, parameters)` over parameters that the same ranks hold.
template <class TimeOf>
double over_groups(const Collectives& send, const PlanSizes& plan,
                   const memory::RankParameters& parameters, const TimeOf& time_of) {
  const double node_gpus = send.links().node_gpus;
  const WeightGroups dense = dense_groups(plan, node_gpus);
  if (plan.experts <= 1) return time_of(dense, parameters.total());
  const double time = time_of(dense, parameters.dense);
  if (parameters.experts <= 0) return time;
  return time + time_of(expert_groups(plan, node_gpus), parameters.experts);
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

WeightGroups dense_groups(const PlanSizes& plan, double node_gpus) {
  return groups_of(plan, node_gpus, plan.replicas(), plan.strides().replicas, plan.sharers());
}

WeightGroups expert_groups(const PlanSizes& plan, double node_gpus) {
  if (plan.experts <= 1) return dense_groups(plan, node_gpus);
  const double ranks = memory::ranks_of_expert(plan.replicas(), plan.tensor, plan.experts);
  const double sharers = memory::ranks_of_expert(plan.sharers(), plan.tensor, plan.experts);
  return groups_of(plan, node_gpus, ranks, plan.experts, sharers);
}

double gather_time(const Collectives& send, const PlanSizes& plan,
                   const memory::RankParameters& parameters) {
  return over_groups(send, plan, parameters, [&](const WeightGroups& groups, double count) {
    return send.all_gather(groups.sharing, weight_bytes * count);
  });
}

double scatter_time(const Collectives& send, const PlanSizes& plan,
                    const memory::RankParameters& parameters, double bytes) {
  return over_groups(send, plan, parameters, [&](const WeightGroups& groups, double count) {
    return send.all_gather(groups.sharing, bytes * count) +
           send.all_reduce(groups.copies, bytes * count / groups.sharing.ranks);
  });
}

double sum_time(const Collectives& send, const PlanSizes& plan,
                const memory::RankParameters& parameters, double bytes) {
  return over_groups(send, plan, parameters, [&](const WeightGroups& groups, double count) {
    return send.all_reduce(groups.all, bytes * count);
  });
}

double shard_parameters(const PlanSizes& plan, const memory::RankParameters& parameters) {
  return parameters.dense / plan.sharers() +
         parameters.experts / memory::ranks_of_expert(plan.sharers(), plan.tensor, plan.experts);
}

}  // namespace dlscale::model::parallel_time
