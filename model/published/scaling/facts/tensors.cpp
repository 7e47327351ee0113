#include "model/published/scaling/facts/tensors.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "core/base/error.hpp"
#include "model/published/scaling/facts/network_kind.hpp"

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

/// Rows of an embedding of positions [arXiv:1810.04805: sequences of up to 512].
constexpr double positions = 512;

/// Tokens of a usual sequence. Attention over it takes multiply-adds beside the products of
/// matrices.
constexpr double usual_sequence = 128;

/// The time of the head relative to all layers: it works on few of the tokens.
constexpr double head_share = 0.06;
/// The time of the embeddings relative to all layers: a look-up is little work.
constexpr double embedding_share = 0.02;

/// A tensor of a layer: its elements, and the share of the layer's time between the previous
/// gradient and its own.
struct Part {
  double share;
  double elements;
};

/// A layer from its end to its start: the feed-forward part with its normalisation, then attention
/// with its own. A backward product takes twice its forward multiply-adds, so shares of time are
/// about those of the elements.
std::array<Part, 11> layer_parts(double h, double f) {
  return {{{0.30, f * h},
           {0.0, h},
           {0.30, f * h},
           {0.02, f},
           {0.03, 2 * h},
           {0.10, h * h},
           {0.0, h},
           {0.12, h * h},
           {0.05, h * h},
           {0.05, h * h},
           {0.03, 3 * h}}};
}

/// Parameters of a layer: four products of attention, two of the feed-forward part, their biases,
/// and two normalisations. Attention to an encoder in every second layer adds a sixth.
double layer_parameters(double h, double f, Attention attention) {
  const double own = 4 * h * h + 4 * h + 2 * h * f + f + h + 4 * h;
  return attention == Attention::cross ? own * 7 / 6 : own;
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

std::vector<GradientTensor> transformer_tensors(const cases::CaseNetwork& network,
                                                Attention attention) {
  EXPECT(network.layers && network.hidden);
  const auto layers = static_cast<double>(*network.layers);
  const auto h = static_cast<double>(*network.hidden);
  const double f = network.ffn ? static_cast<double>(*network.ffn) : 4 * h;
  const double sequence = network.seq ? static_cast<double>(*network.seq) : usual_sequence;
  const auto parameters = static_cast<double>(network.parameters);
  double of_layer = layer_parameters(h, f, attention);
  double embeddings = parameters - layers * of_layer - 2 * h * h;
  if (embeddings < 0) {
    // Other layers: embeddings take a usual share, and layers take the rest.
    embeddings = 0.2 * parameters;
    of_layer = (parameters - embeddings) / layers;
  }
  const double layer_time = 12 * h * h + 2 * sequence * h;
  const double head = head_share * layer_time * layers;
  const double total = head + layer_time * layers + embedding_share * layer_time * layers;
  const double early = 0.3 * head / total;
  std::vector<GradientTensor> tensors{
      {h * h, early}, {h, early}, {h * h, head / total}, {2 * h, head / total}};
  const std::array<Part, 11> parts = layer_parts(h, f);
  const double scale = of_layer / (4 * h * h + 2 * f * h + f + 7 * h);
  double done = head;
  for (std::int64_t layer = 0; layer < *network.layers; ++layer) {
    for (const Part& part : parts) {
      done += part.share * layer_time;
      tensors.push_back({part.elements * scale, done / total});
    }
  }
  tensors.push_back({2 * h, 1.0});
  tensors.push_back({positions * h, 1.0});
  tensors.push_back({std::max(embeddings - positions * h, 0.5 * embeddings), 1.0});
  return tensors;
}

}  // namespace dlscale::model::scaling
