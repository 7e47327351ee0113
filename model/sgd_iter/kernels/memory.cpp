#include "model/sgd_iter/kernels/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/kept_outputs.hpp"
#include "core/network/step.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

/// The only layer that reads an output; nullptr if several do, or none.
const Layer* only_reader(const Network& network, LayerId id) {
  const std::vector<LayerId>& readers = network.consumers(id);
  return readers.size() == 1 ? &network.layer(readers.front()) : nullptr;
}

template <class... Kinds>
bool is_one_of(const Layer& layer) {
  return (std::holds_alternative<Kinds>(layer.kind) || ...);
}

/// Whether its output may overwrite its input.
bool runs_in_place(const Network& network, const Layer& layer) {
  return is_one_of<Relu>(layer) && only_reader(network, layer.inputs.front()) != nullptr &&
         !is_one_of<Input>(network.layer(layer.inputs.front()));
}

double output_elements(const Network& network) {
  if (network.has_attention()) return static_cast<double>(kept_elements(network));
  double sum = 0;
  for (const Layer& layer : network.layers()) {
    if (!runs_in_place(network, layer)) sum += static_cast<double>(layer.output.elements());
  }
  return sum;
}

/// Share of an output's elements that a pooling leaves, if nothing but the pooling reads it;
/// else 1.
double share_after_pooling(const Network& network, const Layer& layer) {
  const Layer* reader = only_reader(network, layer.id);
  while (reader != nullptr && is_one_of<Relu, Dropout, Concat>(*reader)) {
    reader = only_reader(network, reader->id);
  }
  if (reader == nullptr || !is_one_of<Pooling>(*reader)) return 1;
  return static_cast<double>(reader->output.elements()) /
         static_cast<double>(reader->input_shapes.front().elements());
}

/// Bytes of one image that backward reads and could compute anew only at the cost of a convolution.
double kept_bytes(const Network& network, double element) {
  constexpr double place_bytes = 1;  // of a maximum in its window
  double sum = 0;
  for (const Layer& layer : network.layers()) {
    if (!is_one_of<Input, Convolution, FullyConnected>(layer)) continue;
    const auto elements = static_cast<double>(layer.output.elements());
    const double pooled = share_after_pooling(network, layer) * elements;
    sum += std::min(element * elements, (element + place_bytes) * pooled);
  }
  return sum;
}

/// Gradients that the backward pass of one layer reads and writes, for one image.
double most_gradient_elements(const Network& network) {
  double most = 0;
  for (const Step step : backward_steps(network)) {
    if (step.pass != Pass::backward_data) continue;
    const Layer& layer = network.layer(step.layer);
    auto elements = static_cast<double>(layer.output.elements());
    for (const ImageShape& input : layer.input_shapes) {
      elements += static_cast<double>(input.elements());
    }
    most = std::max(most, elements);
  }
  return most;
}

/// Bytes of one image during its copy to the device.
double travelling(const Network& network, DeviceKind device, const Run& run) {
  if (device == DeviceKind::cpu) return 0;
  const double bytes = run.normalisation == Normalisation::device ? 1 : f32_bytes;
  return bytes * static_cast<double>(network.input().elements());
}

std::string gigabytes(Bytes size) {
  return fmt::format("{:.4g} GB", size.si() / 1e9);
}

constexpr std::string_view no_batch = "Choose a smaller network, or devices with more memory.";

/// The reason why it cannot run at all; empty where it can.
std::string memory_obstacle(const Network& network, const Cluster& cluster, const Run& run) {
  const Bytes memory = memory_of_rank(cluster, run);
  if (memory <= Bytes()) return "";
  const MemoryNeed need = memory_need(network, cluster.device.kind, run);
  if (need.least() <= memory) return "";
  return fmt::format(
      "training {} with {} {} per rank needs at least {} unless activations are computed again, "
      "but each rank has {} ({}), so it cannot run",
      network.name(), run.batch, network.samples(), gigabytes(need.least()), gigabytes(memory),
      cluster.device.name);
}

}  // namespace

MemoryNeed memory_need(const Network& network, DeviceKind device, const Run& run) {
  const auto parameters = static_cast<double>(network.parameter_count());
  const auto element = static_cast<double>(element_bytes(run.dtype));
  const double low = element < f32_bytes ? element : 0;
  const double images = run.batch;
  return {.parameters = Bytes(f32_bytes * parameters),
          .states = Bytes((2 * f32_bytes + low) * parameters),
          .activations = Bytes(images * element * output_elements(network)),
          .gradients = Bytes(images * element * most_gradient_elements(network)),
          .batch = Bytes(images * travelling(network, device, run)),
          .least_states = Bytes((f32_bytes + element + low) * parameters),
          .kept = Bytes(images * kept_bytes(network, element))};
}

/// Only parameters and states do not grow with the batch.
int largest_batch(const Network& network, DeviceKind device, const Run& run, Bytes memory) {
  Run one = run;
  one.batch = 1;
  const MemoryNeed need = memory_need(network, device, one);
  const Bytes fixed = need.parameters + need.states;
  if (memory <= fixed) return 0;
  const double images = std::floor((memory - fixed) / (need.total() - fixed));
  return static_cast<int>(std::min<double>(images, std::numeric_limits<int>::max()));
}

Bytes memory_of_rank(const Cluster& cluster, const Run& run) {
  if (cluster.device.kind == DeviceKind::gpu) return cluster.device.memory;
  const int sharers = Placement{run.ranks, run.ranks_per_node}.ranks_on_node();
  return static_cast<double>(cluster.devices_per_node) / sharers * cluster.device.memory;
}

std::string share_obstacle(const Network& network, const Cluster& cluster, const Run& run,
                           std::int64_t global_batch) {
  const std::string why = memory_obstacle(network, cluster, run);
  if (why.empty()) return "";
  const Bytes memory = memory_of_rank(cluster, run);
  const int largest = largest_batch(network, cluster.device.kind, run, memory);
  if (largest == 0) return fmt::format("{}. {}", why, no_batch);
  return fmt::format("{}. Ask for {} ranks or more, or for a smaller global batch.", why,
                     (global_batch + largest - 1) / largest);
}

void check_memory(const Network& network, const Cluster& cluster, const Run& run, Notes& notes) {
  const Bytes memory = memory_of_rank(cluster, run);
  if (memory <= Bytes()) return;
  const MemoryNeed need = memory_need(network, cluster.device.kind, run);
  if (need.total() <= memory) return;
  const int largest = largest_batch(network, cluster.device.kind, run, memory);
  if (const std::string why = memory_obstacle(network, cluster, run); !why.empty()) {
    throw ConfigError(fmt::format(
        "{}. {}", why,
        largest > 0 ? fmt::format("Ask for a batch of {} or less.", largest) : no_batch));
  }
  const std::string needed = gigabytes(need.total());
  const std::string held = gigabytes(memory);
  if (largest > 0) {
    notes.add(NoteKind::memory_short, {run.batch, needed, held, largest});
  } else {
    notes.add(NoteKind::memory_too_small, {run.batch, needed, held});
  }
}

}  // namespace dlscale::model
