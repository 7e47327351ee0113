#include "model/parallel/stages/image_sides.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/parts/network_parts.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_element = 4;
/// A side of images that the strides of a network divide.
constexpr int base_side = 256;

Run one_image() {
  Run run;
  run.batch = 1;
  return run;
}

/// A kind as network files have it: global pooling knows no size.
LayerKind without_size(const Layer& layer) {
  const auto* pooling = std::get_if<Pooling>(&layer.kind);
  if (pooling == nullptr) return layer.kind;
  const ImageShape input = layer.input_shapes.front();
  Pooling kind = *pooling;
  if (kind.kernel_h == input.height && kind.kernel_w == input.width) {
    kind.kernel_h = 0;
    kind.kernel_w = 0;
  }
  return kind;
}

/// Cuts layers into as few runs as have sums within a limit, which no layer exceeds; but into
/// `stages` runs at least. Calls `begin(layer)` where a run begins.
template <class Begin>
void cut_within(double limit, std::span<const double> sizes, int stages, Begin begin) {
  const auto count = static_cast<int>(sizes.size());
  int open = stages;
  double sum = 0;
  int layer = 0;
  for (const double own : sizes) {
    const bool each_needs_one = count - layer <= open;
    if (layer == 0 || sum + own > limit || each_needs_one) {
      begin(layer);
      --open;
      sum = 0;
    }
    sum += own;
    ++layer;
  }
}

/// Lengths of runs of layers whose largest sum is as small as it can be, by bisection. Requires at
/// least as many layers as stages.
std::vector<int> even_runs(const std::vector<double>& sizes, int stages) {
  const auto count = static_cast<int>(sizes.size());
  if (stages == 1) return {count};
  const auto are_enough = [&](double limit) {
    int runs = 0;
    cut_within(limit, sizes, stages, [&](int) { ++runs; });
    return runs <= stages;
  };
  double low = *std::ranges::max_element(sizes);
  double high = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  constexpr int halvings = 40;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (are_enough(middle) ? high : low) = middle;
  }
  std::vector<int> lengths;
  int begun = 0;
  cut_within(high, sizes, stages, [&](int layer) {
    if (layer > 0) lengths.push_back(layer - begun);
    begun = layer;
  });
  lengths.push_back(count - begun);
  return lengths;
}

/// The network for images of other sizes, whatever becomes of its weights.
Network resized(const Network& network, int height, int width) {
  std::vector<Network::Node> nodes;
  for (const Layer& layer : network.layers()) {
    if (std::holds_alternative<Input>(layer.kind)) continue;
    Network::Node node{layer.name, without_size(layer), {}, layer.relu};
    for (const LayerId input : layer.inputs) node.inputs.push_back(network.layer(input).name);
    nodes.push_back(std::move(node));
  }
  return {network.name(), {network.input().channels, height, width}, nodes};
}

/// The largest number from 0 to `most` for which `fits` holds, as it does for all below.
template <class Fits>
int largest_that(int most, Fits fits) {
  int low = 0;
  int high = 1;
  while (high <= most && fits(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (low + 1 < high) {
    const int middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace

int rows_beside(const Layer& layer) {
  if (const auto* filter = std::get_if<Convolution>(&layer.kind)) {
    return filter->dilation * (filter->kernel_h - 1) / 2;
  }
  if (const auto* pooling = std::get_if<Pooling>(&layer.kind)) {
    const bool global = pooling->kernel_h == layer.input_shapes.front().height;
    return global ? 0 : (pooling->kernel_h - 1) / 2;
  }
  return 0;
}

int halo_rows(const Network& network, LayerId id) {
  int most = 0;
  for (const LayerId reader : network.consumers(id)) {
    const Layer& layer = network.layer(reader);
    most = std::max(most, std::holds_alternative<Relu>(layer.kind) ? halo_rows(network, reader)
                                                                   : rows_beside(layer));
  }
  return most;
}

double kept_rows(double height, int strips, int halo) {
  const int neighbours = std::min(strips - 1, 2);
  return std::min(height, std::ceil(height / strips) + neighbours * halo);
}

const Layer* layer_of_all_pixels(const Network& network) {
  const Network taller = resized(network, 2 * network.input().height, network.input().width);
  for (const Layer& layer : network.layers()) {
    if (layer.parameter_count() != taller.layer(layer.id).parameter_count()) return &layer;
  }
  return nullptr;
}

Network with_size(const Network& network, int height, int width) {
  Network sized = resized(network, height, width);
  if (sized.parameter_count() == network.parameter_count()) return sized;
  throw ConfigError(
      fmt::format("{} has layers that read all pixels, so it takes images of {} × {} alone. Take a "
                  "network that pools them first.",
                  network.name(), network.input().height, network.input().width));
}

Network with_side(const Network& network, int side) {
  return with_size(network, side, side);
}

ImageMemory::ImageMemory(const Network& network)
    : network_(with_side(network, base_side)),
      sums_(network_, one_image(), {}),
      elements_(layer_elements(network_)),
      gradients_(gradient_bytes(network_, f32_element, true)) {
  for (const Layer& layer : network_.layers()) halo_.push_back(halo_rows(network_, layer.id));
}

Bytes ImageMemory::of_strip(const ImageTraining& training, int side) const {
  const double scale = static_cast<double>(side) / base_side;
  double activations = 0;
  double most_gradients = 0;
  double input = 0;
  for (const Layer& layer : network_.layers()) {
    const std::size_t index = layer.id.index();
    const bool is_map = layer.output.height > 1 || layer.output.width > 1;
    const double height = is_map ? std::round(scale * layer.output.height) : 1;
    const double rows = kept_rows(height, training.strips, halo_[index]);
    const double share = rows / height * (is_map ? scale * scale : 1);
    activations += f32_element * share * elements_[index].kept;
    most_gradients = std::max(most_gradients, share * gradients_[index]);
    if (index == 0) input = f32_element * share * static_cast<double>(layer.output.elements());
  }
  const double images = training.micro_batch;
  return sums_.part(0, network_.layers().size(), 1).states +
         Bytes(images * (training.micro_batches * activations + most_gradients + input));
}

Bytes ImageMemory::of_stages(const ImageTraining& training, double ratio) const {
  const parallel::PipelineSchedule& schedule = parallel::find_schedule(training.schedule);
  const parallel::PipelineShape shape{training.stages, 1, training.micro_batches};
  if (const std::string why = obstacle(schedule, shape); !why.empty()) {
    throw ConfigError(
        fmt::format("schedule {} {}. Take another schedule or shape.", training.schedule, why));
  }
  const std::size_t layers = network_.layers().size();
  if (static_cast<std::size_t>(training.stages) >= layers) {
    throw ConfigError(fmt::format("{} stages are more than the layers of {}. Take fewer.",
                                  training.stages, network_.name()));
  }
  const LayerSums sums = sums_.with_pixels(training.micro_batch * ratio);
  const std::vector<int> live = usual_live(schedule, shape);
  const int most_live = *std::ranges::max_element(live);
  std::vector<double> sizes;
  for (std::size_t layer = 1; layer < layers; ++layer) {
    sizes.push_back((sums.states(layer) + most_live * sums.activations(layer)).si());
  }
  const NetworkParts parts(network_, even_runs(sizes, training.stages));
  Bytes most;
  for (const PartMemory& rank : rank_memories(sums, parts, schedule.copies, live)) {
    most = std::max(most, rank.total());
  }
  return most;
}

Bytes ImageMemory::need(const ImageTraining& training, int side) const {
  EXPECT(training.stages >= 1 && training.strips >= 1 && training.micro_batch >= 1 && side >= 1);
  EXPECT(training.micro_batches >= 1 && (training.strips == 1 || training.stages == 1));
  if (training.strips > 1) return of_strip(training, side);
  const double scale = static_cast<double>(side) / base_side;
  return of_stages(training, scale * scale);
}

int ImageMemory::largest_side(const ImageTraining& training, Bytes memory, int step) const {
  EXPECT(step >= 1);
  constexpr int most = 32'768;
  return step * largest_that(most / step,
                             [&](int steps) { return need(training, step * steps) <= memory; });
}

int ImageMemory::largest_micro_batch(ImageTraining training, int side, Bytes memory) const {
  return largest_that(most_images_per_rank, [&](int images) {
    training.micro_batch = images;
    return need(training, side) <= memory;
  });
}

}  // namespace dlscale::model
