#pragma once
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/time/plan_sizes.hpp"
#include "model/parallel/time/products.hpp"

namespace dlscale::model::parallel_time {

/// The kernels that a family uses on a device: none is older than the device. `asks_for_fused`
/// replaces scores in memory.
AttentionKernel kernel_on(AttentionKernel kernel, double capability, bool asks_for_fused);

/// Seconds of the core of attention of one layer, without its projections. With b samples of s
/// tokens, a heads, q and v features of all heads, t tensor- and c context-parallel ranks:
///   fused       b s² (q + v) / (t c) · (1 + 128 / s) · w / (P16 e), of causal scores; backward 2.5
///               triton: e = attention_triton F^-fall, w = 1
///               flash2: e = attention_flash2 F^-fall, w = 1 + narrow_flash2 √F / max(d, 32)
///               native: e = attention_native,         w = 1 + narrow_native √F / max(d, 32)
///   in memory   b a / t products s × s × d and s × d × s, and 4.5 b a s² / (t c) elements;
///               backward twice the products, and 5.5
/// [derived; shares fitted, see constants.hpp]
PassTime attention_time(const DeviceRates& rates, const TimeConstants& constants,
                        AttentionKernel kernel, const memory::TransformerShape& shape,
                        const PlanSizes& plan, const LayerSizes& sizes);

}  // namespace dlscale::model::parallel_time
