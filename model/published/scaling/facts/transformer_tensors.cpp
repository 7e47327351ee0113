#include "model/published/scaling/facts/transformer_tensors.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include "core/base/error.hpp"

namespace dlscale::model::scaling {
namespace {

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
