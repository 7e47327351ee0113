#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/published/scaling/facts/tensors.hpp"

namespace dlscale::model::scaling {

/// The letters and digits of a name, in lower case.
std::string plain_name(std::string_view name);

/// Facts about gradients and samples that the name of a network implies.
struct NetworkKind {
  /// The beginning of its plain name.
  std::string_view name = {};
  /// The file of configs/networks that has its layers; empty: there is none.
  std::string_view file = {};
  /// Generates its layers; nullptr: not known.
  std::vector<LayerWork> (*build)() = nullptr;
  /// Whether those layers are only a part of it, a backbone that stands for the rest.
  bool part = false;
  /// Tensors of the part behind those layers. They are ready within the first tenth of backward.
  std::vector<GradientTensor> behind = {};
  /// Number of its tensors, if no layers are known.
  int tensors = 160;
  Attention attention = Attention::own;
  /// Whether samples of a batch differ in length or size, so that the work of workers differs.
  bool uneven_samples = false;
};

/// The kind with the longest name that the network's plain name begins with. If there is none, a
/// kind without layers and with even samples.
const NetworkKind& network_kind(std::string_view name);

}  // namespace dlscale::model::scaling
