#pragma once
#include <cstddef>
#include <vector>

#include "core/base/ids.hpp"
#include "core/network/network.hpp"

namespace dlscale::model {

/// A network cut into parts of consecutive layers, for the stages of a pipeline. The input belongs
/// to the first part, and is not counted as a layer.
class NetworkParts {
 public:
  /// Lengths ≥ 1, which add up to all layers but the input (EXPECT).
  NetworkParts(const Network& network, std::vector<int> lengths);
  [[nodiscard]] std::size_t count() const { return lengths_.size(); }
  /// Layers of each part.
  [[nodiscard]] const std::vector<int>& lengths() const { return lengths_; }
  [[nodiscard]] std::size_t part_of(LayerId layer) const { return part_of_[layer.index()]; }
  /// By part: the layer with which it ends.
  [[nodiscard]] std::size_t last_layer(std::size_t part) const { return last_[part]; }

 private:
  std::vector<int> lengths_;
  std::vector<std::size_t> part_of_;  ///< by layer
  std::vector<std::size_t> last_;     ///< by part
};

/// By layer: elements of one sample that a cut behind it sends on, the outputs of layers up to it
/// that layers behind it read, each once. So the shortcut of a residual block that spans several
/// parts counts at every cut in between: it travels once per crossing. The last layer has none.
/// [HyPar-Flow, arXiv:1911.05146]
std::vector<double> crossing_elements(const Network& network);

}  // namespace dlscale::model
