#include "model/parallel/parts/network_parts.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {

NetworkParts::NetworkParts(const Network& network, std::vector<int> lengths)
    : lengths_(std::move(lengths)) {
  const auto layers = static_cast<int>(network.layers().size()) - 1;
  EXPECT(std::accumulate(lengths_.begin(), lengths_.end(), 0) == layers);
  part_of_.push_back(0);  // the input
  for (std::size_t part = 0; part < lengths_.size(); ++part) {
    EXPECT(lengths_[part] >= 1);
    part_of_.insert(part_of_.end(), static_cast<std::size_t>(lengths_[part]), part);
    last_.push_back(part_of_.size() - 1);
  }
}

std::vector<double> crossing_elements(const Network& network) {
  // Differences between a cut and the one before it.
  std::vector<double> changes(network.layers().size() + 1);
  for (const Layer& layer : network.layers()) {
    std::size_t last_reader = layer.id.index();
    for (const LayerId reader : network.consumers(layer.id)) {
      last_reader = std::max(last_reader, reader.index());
    }
    const auto elements = static_cast<double>(layer.output.elements());
    changes[layer.id.index()] += elements;
    changes[last_reader] -= elements;
  }
  changes.pop_back();
  std::partial_sum(changes.begin(), changes.end(), changes.begin());
  return changes;
}

}  // namespace dlscale::model
