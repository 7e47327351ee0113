#include "model/published/scaling/facts/tensors.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "core/base/error.hpp"
#include "model/published/scaling/facts/layer_work.hpp"
#include "model/published/scaling/facts/network_kind.hpp"
#include "model/published/scaling/facts/transformer_tensors.hpp"

namespace dlscale::model::scaling {
namespace {

double seconds(const LayerWork& layer) {
  constexpr double macs_per_second = 2.2e12;
  constexpr double bytes_per_second = 6e11;
  constexpr double f32_written_and_read = 8;
  return 2 * layer.macs / macs_per_second + f32_written_and_read * layer.outputs / bytes_per_second;
}

double total_elements(const std::vector<GradientTensor>& tensors) {
  double sum = 0;
  for (const GradientTensor& tensor : tensors) sum += tensor.elements;
  return sum;
}

/// Tensors of equal times that get smaller towards the end of backward, since the first layers of a
/// network have fewer channels. Of n tensors the i-th has n - i parts of all.
std::vector<GradientTensor> ramp_tensors(int count) {
  std::vector<GradientTensor> tensors;
  tensors.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    tensors.push_back({static_cast<double>(count - i), static_cast<double>(i + 1) / count});
  }
  return tensors;
}

/// The known layers of a kind; empty if none are known.
std::vector<LayerWork> known_layers(const NetworkKind& kind, const KnownNetworks& known) {
  if (kind.build != nullptr) return kind.build();
  const auto found = known.find(kind.file);
  return found == known.end() ? std::vector<LayerWork>{} : layer_work(found->second);
}

std::vector<GradientTensor> tensors_of(const NetworkKind& kind,
                                       const std::vector<LayerWork>& layers) {
  std::vector<GradientTensor> tensors = ready_tensors(layers);
  if (kind.behind.empty()) return tensors;
  for (GradientTensor& tensor : tensors) tensor.ready = 0.1 + 0.9 * tensor.ready;
  tensors.insert(tensors.begin(), kind.behind.begin(), kind.behind.end());
  return tensors;
}

/// Whether layers with that number of parameters can be those of a network. Another definition of
/// it has slightly more or fewer, and a backbone is only a part.
bool may_be(const NetworkKind& kind, double of_layers, double of_network) {
  const double ratio = of_network / of_layers;
  return kind.part ? ratio > 0.5 && ratio < 5 : ratio > 0.8 && ratio < 1.25;
}

TensorProfile by_name(const cases::CaseNetwork& network, const KnownNetworks& known) {
  const NetworkKind& kind = network_kind(network.name);
  const std::vector<LayerWork> layers = known_layers(kind, known);
  if (!layers.empty()) {
    TensorProfile profile{TensorSource::layers, tensors_of(kind, layers)};
    if (may_be(kind, total_elements(profile.tensors), static_cast<double>(network.parameters))) {
      return profile;
    }
  }
  return {TensorSource::ramp, ramp_tensors(kind.tensors)};
}

}  // namespace

std::vector<GradientTensor> ready_tensors(std::span<const LayerWork> layers) {
  double total = 0;
  for (const LayerWork& layer : layers) total += seconds(layer);
  EXPECT(total > 0);
  std::vector<GradientTensor> ready;
  double done = 0;
  for (std::size_t i = layers.size(); i-- > 0;) {
    done += seconds(layers[i]);
    const std::vector<double>& tensors = layers[i].tensors;
    for (std::size_t tensor = tensors.size(); tensor-- > 0;) {
      ready.push_back({tensors[tensor], std::min(done / total, 1.0)});
    }
  }
  return ready;
}

std::vector<LayerWork> layer_work(const Network& network) {
  std::vector<LayerWork> work;
  for (const Layer& layer : network.layers()) {
    if (std::holds_alternative<Input>(layer.kind)) continue;
    LayerWork of_layer{static_cast<double>(layer.forward_macs()),
                       static_cast<double>(layer.output.elements()),
                       {}};
    // In backward order, weights come first.
    for (const std::int64_t elements : {layer.bias_count(), layer.weight_count()}) {
      if (elements > 0) of_layer.tensors.push_back(static_cast<double>(elements));
    }
    work.push_back(of_layer);
  }
  return work;
}

TensorProfile gradient_tensors(const cases::CaseNetwork& network, const KnownNetworks& known) {
  EXPECT(network.parameters > 0);
  TensorProfile profile;
  if (network.layers && network.hidden) {
    profile = {TensorSource::transformer,
               transformer_tensors(network, network_kind(network.name).attention)};
  } else {
    profile = by_name(network, known);
  }
  const double scale = static_cast<double>(network.parameters) / total_elements(profile.tensors);
  for (GradientTensor& tensor : profile.tensors) {
    tensor.elements *= scale;
    tensor.ready = std::min(tensor.ready, 1.0);
  }
  return profile;
}

}  // namespace dlscale::model::scaling
