#include "model/parallel/time/plan_sizes.hpp"

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::model::parallel_time {
namespace {

using parallel::Axis;

/// Axes with more than one rank, in order.
std::vector<Axis> axes_of(const parallel::ParallelPlan& plan, const parallel::AxisOrder& order) {
  std::vector<Axis> axes;
  for (const Axis axis : order) {
    if (parallel::ranks_along(axis, plan) > 1) axes.push_back(axis);
  }
  return axes;
}

/// Whether gradients are summed over two axes.
bool has_both(const parallel::ParallelPlan& plan) {
  return plan.context > 1 && plan.data > 1;
}

}  // namespace

std::optional<std::string> fault_of_order(const parallel::ParallelPlan& plan) {
  const std::vector<Axis> axes = axes_of(plan, plan.order);
  if (axes == axes_of(plan, parallel::all_axes)) return {};
  if (plan.experts > 1) {
    return "order is not tensor, context, data, stages, and experts is over 1 (messages to experts "
           "are timed in that order alone). Leave order out.";
  }
  const auto place = [&](Axis axis) { return std::ranges::find(axes, axis) - axes.begin(); };
  if (has_both(plan) && std::abs(place(Axis::context) - place(Axis::data)) > 1) {
    return "order puts another axis between context and data (gradients are summed over both, and "
           "are timed side by side alone). Name context and data next to each other.";
  }
  return {};
}

std::optional<Strides> strides_of(const parallel::ParallelPlan& plan) {
  const std::vector<Axis> axes = axes_of(plan, plan.order);
  if (axes == axes_of(plan, parallel::all_axes)) return {};
  if (const auto fault = fault_of_order(plan)) throw ConfigError(*fault);
  const auto stride_of = [&](Axis asked) {
    double stride = 1;
    for (const Axis axis : axes) {
      if (axis == asked) return stride;
      stride *= parallel::ranks_along(axis, plan);
    }
    return stride;  // of an axis with one rank: it sends nothing
  };
  Strides strides{stride_of(Axis::tensor), stride_of(Axis::context), 1, stride_of(Axis::stages)};
  strides.replicas = stride_of(Axis::data);
  if (plan.data == 1 || has_both(plan))
    strides.replicas = std::min(strides.replicas, strides.context);
  return strides;
}

double recompute_share_of(const parallel::ParallelPlan& plan, double layers) {
  if (plan.recompute != parallel::Recompute::block) return 1;
  const double parts = static_cast<double>(plan.stages) * plan.chunks;
  return std::min(1.0, plan.recompute_layers * parts / layers);
}

LayerSizes layer_sizes(const memory::TransformerShape& shape, const PlanSizes& plan) {
  LayerSizes is;
  const auto heads = static_cast<double>(shape.heads);
  const auto width = static_cast<double>(shape.head_width);
  is.tokens = plan.micro_batch * static_cast<double>(shape.sequence) / plan.context;
  is.hidden = static_cast<double>(shape.hidden);
  is.query = heads * width;
  is.value = heads * width;
  is.key = static_cast<double>(shape.kv_heads) * width;
  is.key_head = width;
  if (shape.latent) {
    is.key_head = static_cast<double>(shape.latent->plain_width + shape.latent->turned_width);
    is.query = heads * is.key_head;
    is.key = is.query;
    is.value = heads * static_cast<double>(shape.latent->value_width);
  }
  is.gates = shape.gated ? 2 : 1;
  const double dense = static_cast<double>(shape.ffn) / plan.tensor;
  is.inner = dense;
  if (shape.experts) {
    const memory::ExpertShape& experts = *shape.experts;
    is.expert_share =
        1 - static_cast<double>(experts.dense_layers) / static_cast<double>(shape.layers);
    const double ranks = plan.experts > 1 ? plan.token_ranks() : plan.tensor;
    const double routed =
        static_cast<double>(experts.active) * static_cast<double>(experts.ffn) / ranks;
    const double shared = static_cast<double>(experts.shared_ffn) / plan.tensor;
    is.inner = (1 - is.expert_share) * dense + is.expert_share * (routed + shared);
  }
  return is;
}

}  // namespace dlscale::model::parallel_time
