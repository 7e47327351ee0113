#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/published/scaling/facts/layer_work.hpp"
#include "model/published/scaling/facts/transformer_tensors.hpp"

namespace dlscale::model::scaling {

/// The letters and digits of a name, in small letters.
std::string plain_name(std::string_view name);

/// What the name of a network says of its gradients and samples.
struct NetworkKind {
  /// How its plain name begins.
  std::string_view name = {};
  /// Its layers are those of a file of configs/networks; empty: they are not there.
  std::string_view file = {};
  /// Its layers, generated; nullptr: not known.
  std::vector<LayerWork> (*build)() = nullptr;
  /// Those layers are a part of it, a backbone, as which the rest is taken.
  bool part = false;
  /// Tensors of what stands behind those layers; they are ready within the first tenth of backward.
  std::vector<GradientTensor> behind = {};
  /// Number of its tensors, where no layers are known.
  int tensors = 160;
  Attention attention = Attention::own;
  /// Batches hold samples of different length or size, so that workers differ in what they do.
  bool uneven_samples = false;
};

/// The kind with the longest name that the network's plain name begins with. One without layers,
/// and of even samples, if there is none.
const NetworkKind& network_kind(std::string_view name);

}  // namespace dlscale::model::scaling
