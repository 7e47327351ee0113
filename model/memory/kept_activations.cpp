#include "model/memory/kept_activations.hpp"

namespace dlscale::model::memory {
namespace {

/// Sizes in f64 of one layer.
struct Sizes {
  double tokens;
  double hidden;
  double query;  ///< features of all queries
  double value;  ///< features of all results of attention
  double key;    ///< features of all keys
  double element;
  double operand;  ///< bytes of an input of a product
  double tensor;
  double token_parts;
};

bool keeps_few_bits(const MemorySetup& setup, const Implementation& way) {
  return way.keeps_operands && setup.operand > 0;
}

Sizes sizes_of(const TransformerShape& shape, const MemorySetup& setup, const Implementation& way) {
  const auto heads = static_cast<double>(shape.heads);
  const auto width = static_cast<double>(shape.head_width);
  return {.tokens = tokens_of_rank(shape, setup),
          .hidden = static_cast<double>(shape.hidden),
          .query = heads * width,
          .value = heads * width,
          .key = static_cast<double>(shape.kv_heads) * width,
          .element = setup.element,
          .operand = keeps_few_bits(setup, way) ? setup.operand : setup.element,
          .tensor = static_cast<double>(setup.tensor),
          .token_parts = setup.token_parts()};
}

double norms_and_inputs(const Sizes& is, const TransformerShape& shape, const MemorySetup& setup,
                        const Implementation& way, std::int64_t layer) {
  const double masks = setup.dropout ? 2 : 0;
  const double casts = shape.latent && keeps_few_bits(setup, way) ? 2 : 1;
  const double feed_forward = has_experts(shape, layer) ? is.element : is.operand;
  return is.tokens * is.hidden * (2 * is.element + casts * is.operand + feed_forward + masks) /
         is.token_parts;
}

/// Compressed queries, keys and values before and after their norms; then each head's.
double latent_attention(const Sizes& is, const LatentAttention& latent, double heads) {
  const auto ranks = static_cast<double>(latent.query_rank + latent.key_value_rank);
  const auto query = static_cast<double>(latent.plain_width + latent.turned_width);
  const auto value = static_cast<double>(latent.value_width);
  return is.tokens * (ranks * (is.element + is.operand) +
                      is.element * heads * (2 * query + 2 * value) / is.tensor);
}

double attention(const Sizes& is, const TransformerShape& shape, const Implementation& way) {
  if (shape.latent) return latent_attention(is, *shape.latent, static_cast<double>(shape.heads));
  return is.tokens * is.element / is.tensor *
         (is.query + is.value + 2 * is.key + way.attention_copies * is.value);
}

double scores(const Sizes& is, const TransformerShape& shape, const MemorySetup& setup) {
  const auto heads = static_cast<double>(shape.heads);
  if (setup.fused_attention) return 4 * heads * is.tokens / is.tensor;
  if (setup.recompute == Recompute::selective) return 0;
  const double keys = static_cast<double>(shape.sequence) / setup.context;
  return is.tokens * heads * keys * (2 * is.element + (setup.dropout ? 1 : 0)) / is.tensor;
}

/// Bytes of an inner feature: the last product's input, and the activation's.
double inner_bytes(const Sizes& is, const TransformerShape& shape, const Implementation& way) {
  return is.operand + is.element * (shape.gated ? way.gated_elements - 1 : 1);
}

double feed_forward(const Sizes& is, const TransformerShape& shape, const MemorySetup& setup,
                    const Implementation& way, std::int64_t layer) {
  const double each = is.tokens * inner_bytes(is, shape, way);
  if (!has_experts(shape, layer)) return each * static_cast<double>(shape.ffn) / is.tensor;
  const ExpertShape& experts = *shape.experts;
  const double parts = setup.experts > 1 ? is.token_parts : is.tensor;
  const double rows = is.tokens * static_cast<double>(experts.active) * setup.imbalance;
  const double routed =
      rows * (is.operand * way.expert_row_elements * is.hidden / is.token_parts +
              inner_bytes(is, shape, way) * static_cast<double>(experts.ffn) / parts);
  return routed + each * static_cast<double>(experts.shared_ffn) / is.tensor +
         4 * is.tokens * static_cast<double>(experts.count) / is.token_parts;
}

/// Products that are kept by torchtitan's rule, every second one in the order q, k, v, o, gate, up,
/// down; and the result of attention and the layer's input.
double kept_operators(const Sizes& is, const TransformerShape& shape) {
  const double inner = static_cast<double>(shape.ffn) / is.tensor;
  return is.tokens * is.element *
         (2 * is.hidden / is.token_parts + (is.query + is.key + is.value) / is.tensor + inner);
}

}  // namespace

double tokens_of_rank(const TransformerShape& shape, const MemorySetup& setup) {
  return setup.micro_batch * static_cast<double>(shape.sequence) / setup.context;
}

double whole_activations(const TransformerShape& shape, const MemorySetup& setup,
                         const Implementation& way, std::int64_t layer) {
  const Sizes is = sizes_of(shape, setup, way);
  return norms_and_inputs(is, shape, setup, way, layer) + attention(is, shape, way) +
         scores(is, shape, setup) + feed_forward(is, shape, setup, way, layer);
}

double kept_activations(const TransformerShape& shape, const MemorySetup& setup,
                        const Implementation& way, std::int64_t layer) {
  const Sizes is = sizes_of(shape, setup, way);
  switch (setup.recompute) {
    case Recompute::full:
      return is.tokens * is.hidden * is.element / is.token_parts;
    case Recompute::operators:
      return kept_operators(is, shape);
    case Recompute::none:
    case Recompute::selective:
    case Recompute::block:
      break;
  }
  return whole_activations(shape, setup, way, layer);
}

}  // namespace dlscale::model::memory
