#pragma once
#include "model/parallel/time/layer.hpp"

namespace dlscale::model::parallel_time {

/// Seconds of the linear layers of one layer; of a network with experts, the mean over its layers.
struct LayerProducts {
  PassTime qkv = {};
  PassTime projection = {};
  PassTime feed_forward = {};
  double up_forward = 0;  ///< the first product of the dense feed-forward part
  [[nodiscard]] PassTime total() const { return qkv + projection + feed_forward; }
};

/// Products of T tokens on a rank, (m, n, k) as in linear_time():
///   qkv (T, (q + 2k) / t, h); out (T, h, v / t); up (T, g f / t, h); down (T, h, f / t)
///   latent attention: (T, ranks + rope, h), (T, q / t, q rank), (T, a (nope + v) / t, kv rank)
///   experts: E / ep products of T K ep / E · imbalance / r rows, for r ranks that share tokens;
///   ep = 1: E products of T K / E · imbalance rows, cut by t as dense ones; shared ones as dense
LayerProducts layer_products(const Setting& setting, const PlanSizes& plan,
                             const LayerSizes& sizes);

}  // namespace dlscale::model::parallel_time
