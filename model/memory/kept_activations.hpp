#pragma once
#include <cstdint>

#include "model/memory/implementation.hpp"
#include "model/memory/memory_setup.hpp"
#include "model/memory/transformer_shape.hpp"

namespace dlscale::model::memory {

/// Tokens of a micro-batch on a rank: b s / cp.
double tokens_of_rank(const TransformerShape& shape, const MemorySetup& setup);

/// Bytes that layer `layer` keeps for backward, for one micro-batch. With b samples of s tokens
/// (already over cp), width h, a heads, t tensor-parallel ranks and e bytes an element:
///   norms and inputs   b s h (2 e + 2 o + 2 δ) / (t if tokens are shared, else 1)
///   attention          b s h (2 q + 2 κ + copies) e / t       q = a d/h, κ = kv_heads d/h
///   scores             b s a s (2 e + δ) / t, unless fused or recomputed; fused: 4 a s b / t
///   feed-forward       b s h φ (e + o) / t, gated φ (2 e + o) (fused) or φ (3 e + o)   φ = ffn/h
///   experts            b s h top_k (rows o + φ_e (2 e + o)), shared ones as above, 4 bytes a logit
///                      of the router; times the imbalance
/// o bytes hold an element of a product's input: e, or fewer in 8 and 4 bits where the framework
/// keeps these. A router keeps the input that it shares with experts, attention its result, which
/// the next product casts again. Latent attention casts its input for queries and for keys.
/// [NVIDIA/Megatron-LM core/transformer, set_save_original_input @d98e8a64] Scales of blocks of 32
/// (1/32 of their bytes) and a second copy of attention's result, where scales are delayed, are
/// left out. The layer is one that is kept, if blocks are computed again. δ = 1 with dropout, for
/// its masks. Recomputation keeps b s h e / t of the input, or, by operator, of products every
/// second (query, value, gate, last), the result of attention and the input. [arXiv:2205.05198,
/// equations (1) to (6), and derived] It leaves out biases' and routes' indices.
double kept_activations(const TransformerShape& shape, const MemorySetup& setup,
                        const Implementation& way, std::int64_t layer);

/// The same if nothing were recomputed: what a layer needs while its backward runs.
double whole_activations(const TransformerShape& shape, const MemorySetup& setup,
                         const Implementation& way, std::int64_t layer);

}  // namespace dlscale::model::memory
