#include "model/parallel/time/layer_products.hpp"

#include <algorithm>

namespace dlscale::model::parallel_time {
namespace {

using memory::ExpertShape;
using memory::LatentAttention;

class Linear {
 public:
  explicit Linear(const DeviceRates& rates) : rates_(rates) {}
  PassTime operator()(double m, double n, double k, double count = 1) const {
    return linear_time(rates_, rates_.layer, m, n, k, count);
  }

 private:
  const DeviceRates& rates_;
};

PassTime latent_qkv(const Linear& linear, const LatentAttention& latent, double heads,
                    const PlanSizes& plan, const LayerSizes& sizes) {
  const auto query_rank = static_cast<double>(latent.query_rank);
  const auto key_rank = static_cast<double>(latent.key_value_rank);
  const auto keys = heads * static_cast<double>(latent.plain_width + latent.value_width);
  return linear(sizes.tokens, query_rank + key_rank + static_cast<double>(latent.turned_width),
                sizes.hidden) +
         linear(sizes.tokens, std::max(sizes.query / plan.tensor, 1.0), std::max(query_rank, 1.0)) +
         linear(sizes.tokens, std::max(keys / plan.tensor, 1.0), std::max(key_rank, 1.0));
}

PassTime expert_layers(const Linear& linear, const ExpertShape& experts, double imbalance,
                       const PlanSizes& plan, const LayerSizes& sizes) {
  const auto all = static_cast<double>(experts.count);
  const double local = std::max(1.0, all / plan.experts);
  const bool is_whole = plan.experts > 1;  // else tensor ranks cut each expert
  const double row_ranks = is_whole ? plan.token_ranks() : 1;
  const double rows = std::max(1.0, sizes.tokens * static_cast<double>(experts.active) *
                                        plan.experts / all * imbalance / row_ranks);
  const double inner = static_cast<double>(experts.ffn) / (is_whole ? 1 : plan.tensor);
  PassTime time = linear(rows, sizes.gates * inner, sizes.hidden, local) +
                  linear(rows, sizes.hidden, inner, local);
  if (experts.shared_ffn > 0) {
    const double shared = static_cast<double>(experts.shared_ffn) / plan.tensor;
    time += linear(sizes.tokens, sizes.gates * shared, sizes.hidden) +
            linear(sizes.tokens, sizes.hidden, shared);
  }
  return time;
}

}  // namespace

LayerProducts layer_products(const Setting& setting, const PlanSizes& plan,
                             const LayerSizes& sizes) {
  const Linear linear(setting.rates);
  const memory::TransformerShape& shape = setting.shape;
  LayerProducts products;
  products.qkv =
      shape.latent
          ? latent_qkv(linear, *shape.latent, static_cast<double>(shape.heads), plan, sizes)
          : linear(sizes.tokens, (sizes.query + 2 * sizes.key) / plan.tensor, sizes.hidden);
  products.projection = linear(sizes.tokens, sizes.hidden, sizes.value / plan.tensor);
  const double inner = static_cast<double>(shape.ffn) / plan.tensor;
  const PassTime up = linear(sizes.tokens, sizes.gates * inner, sizes.hidden);
  products.up_forward = up.forward;
  products.feed_forward = up + linear(sizes.tokens, sizes.hidden, inner);
  if (shape.experts) {
    products.feed_forward =
        sizes.expert_share *
            expert_layers(linear, *shape.experts, setting.constants.imbalance, plan, sizes) +
        (1 - sizes.expert_share) * products.feed_forward;
  }
  return products;
}

}  // namespace dlscale::model::parallel_time
