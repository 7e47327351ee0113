#include "model/parallel/time/plan_sizes.hpp"

namespace dlscale::model::parallel_time {

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
    const double routed =
        static_cast<double>(experts.active) * static_cast<double>(experts.ffn) / plan.token_ranks();
    const double shared = static_cast<double>(experts.shared_ffn) / plan.tensor;
    is.inner = (1 - is.expert_share) * dense + is.expert_share * (routed + shared);
  }
  return is;
}

}  // namespace dlscale::model::parallel_time
