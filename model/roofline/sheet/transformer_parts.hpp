#pragma once
#include <vector>

#include "core/network/network.hpp"
#include "core/run/compute_traits.hpp"

namespace dlscale::model::sheet {

/// Place of a layer in a transformer, on which the cost of its element-wise operations depends.
enum class TransformerPart {
  block,       ///< anything else, as a rule a layer of attention and its products
  embedding,   ///< the first table of a sequence
  embedded,    ///< what is added to that table, and its norm
  words,       ///< decodes words, behind the last block
  other_head,  ///< any other layer behind the last block
};

/// The parts of a network with attention.
class TransformerParts {
 public:
  /// Requires network.has_attention(). The network must outlive this.
  explicit TransformerParts(const Network& network);
  [[nodiscard]] TransformerPart of(LayerId layer) const { return parts_[layer.index()]; }
  /// Whether queries and keys of the scores come from different layers.
  [[nodiscard]] bool is_cross(const Layer& scores) const;
  /// Share of the keys that are of the sequence itself: less than 1 with a memory.
  [[nodiscard]] double own_keys(const Layer& scores) const;
  /// Share of its rows that a layer behind the last block computes. 1 for all other layers, and in
  /// networks that are not trained to guess masked words, which have a loss over tokens and no
  /// causal attention.
  [[nodiscard]] double computed_rows(LayerId layer, const ComputeTraits& way) const;

 private:
  void find_embeddings();
  void find_head();

  const Network* network_;
  std::vector<TransformerPart> parts_;
  bool guesses_masked_words_ = false;
};

}  // namespace dlscale::model::sheet
