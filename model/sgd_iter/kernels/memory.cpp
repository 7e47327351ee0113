#include "model/sgd_iter/kernels/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/cluster/device_memory.hpp"
#include "model/roofline/sheet/step_times.hpp"
#include "model/sgd_iter/kernels/layer_memory.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double f32_bytes = 4;

/// Elements of outputs that stay from forward to backward, for one sample.
LayerElements kept_of(const Network& network) {
  LayerElements sum;
  for (const LayerElements& layer : layer_elements(network)) {
    sum.kept += layer.kept;
    sum.scores += layer.scores;
    sum.loss += layer.loss;
  }
  return sum;
}

/// Bytes of one sample that backward reads and could compute anew only at the cost of a product.
double least_kept_of(const Network& network, double element) {
  const std::vector<double> layers = least_kept_bytes(network, element);
  return std::accumulate(layers.begin(), layers.end(), 0.0);
}

/// Bytes of the gradients that the backward pass of one layer reads and writes, for one sample.
double most_gradient_bytes(const Network& network, double element, bool fused_attention) {
  return std::ranges::max(gradient_bytes(network, element, fused_attention));
}

/// Bytes of one sample during its copy to the device.
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
std::string memory_obstacle(const Network& network, const Cluster& cluster, const Run& run,
                            const MemoryTraits& traits) {
  const Bytes memory = memory_of_rank(cluster, run);
  if (memory <= Bytes()) return "";
  const MemoryNeed need = memory_need(network, cluster.device.kind, run, traits);
  if (need.least() <= memory) return "";
  return fmt::format(
      "training {} with {} {} per rank needs at least {} unless activations are computed again, "
      "but each rank has {} ({}), so it cannot run",
      network.name(), run.batch, network.samples(), gigabytes(need.least()), gigabytes(memory),
      cluster.device.name);
}

/// A rank beside others also keeps a communicator.
memory::LibraryMemory libraries_of(DeviceKind device, const Run& run) {
  if (device == DeviceKind::cpu) return {};
  return memory::library_memory(run.ranks > 1 ? 1 : 0);
}

/// States of the optimiser, in numbers of f32 a parameter.
struct OptimiserStates {
  int least;
  int usual;
  int most;
};

OptimiserStates optimiser_states(const Network& network, const MemoryTraits& traits) {
  constexpr int momentum = 1;
  constexpr int adam = 2;
  if (traits.optimiser_states) {
    return {*traits.optimiser_states, *traits.optimiser_states, *traits.optimiser_states};
  }
  return {0, network.has_attention() ? adam : momentum, adam};
}

}  // namespace

MemoryTraits memory_traits(const Network& network, DType dtype,
                           const std::vector<ComputeRow>& software) {
  const ComputeTraits traits = sheet::traits_for(network, dtype, software);
  if (!traits.stated) return {};
  return {.optimiser_states = optimizer_states(traits.optimizer),
          .fused_attention = traits.fused_attention};
}

Bytes MemoryNeed::most() const {
  return parameters + most_states + most_copies * (activations + scores) + gradients + batch +
         Bytes(libraries.high);
}

MemoryNeed memory_need(const Network& network, DeviceKind device, const Run& run,
                       const MemoryTraits& traits) {
  const auto parameters = static_cast<double>(network.parameter_count());
  const auto element = static_cast<double>(element_bytes(run.dtype));
  const double low = element < f32_bytes ? element : 0;
  const double samples = run.batch;
  const OptimiserStates states = optimiser_states(network, traits);
  const LayerElements kept = kept_of(network);
  const bool fused = traits.fused_attention.value_or(true);
  const double scores = samples * element * kept.scores;
  const double loss_copy = element < f32_bytes ? f32_bytes : 0;
  const auto with = [&](double gradient, int numbers) {
    return Bytes((gradient + low + f32_bytes * numbers) * parameters);
  };
  return {.parameters = Bytes(f32_bytes * parameters),
          .states = with(f32_bytes, states.usual),
          .activations =
              Bytes(samples * (element * kept.kept + loss_copy * kept.loss) + (fused ? 0 : scores)),
          .gradients = Bytes(samples * most_gradient_bytes(network, element, fused)),
          .batch = Bytes(samples * travelling(network, device, run)),
          .least_states = with(element, states.least),
          .kept = Bytes(samples * least_kept_of(network, element)),
          .most_states = with(f32_bytes, states.most),
          .scores = Bytes(traits.fused_attention ? 0 : scores),
          .libraries = libraries_of(device, run)};
}

/// Only parameters, states and libraries do not grow with the batch.
int largest_batch(const Network& network, DeviceKind device, const Run& run, Bytes memory,
                  MemoryBound bound, const MemoryTraits& traits) {
  Run one = run;
  one.batch = 1;
  const MemoryNeed need = memory_need(network, device, one, traits);
  const bool least = bound == MemoryBound::least;
  const Bytes fixed = need.parameters + (least ? need.least_states + Bytes(need.libraries.low)
                                               : need.states + Bytes(need.libraries.bytes));
  if (memory <= fixed) return 0;
  const Bytes grows = (least ? need.least() : need.total()) - fixed;
  const double samples = std::floor((memory - fixed) / grows);
  return static_cast<int>(std::min<double>(samples, std::numeric_limits<int>::max()));
}

Bytes memory_of_rank(const Cluster& cluster, const Run& run) {
  if (cluster.device.kind == DeviceKind::gpu) return usable_memory(cluster.device);
  const int sharers = Placement{run.ranks, run.ranks_per_node}.ranks_on_node();
  return static_cast<double>(cluster.devices_per_node) / sharers * cluster.device.memory;
}

std::string share_obstacle(const Network& network, const Cluster& cluster, const Run& run,
                           std::int64_t global_batch, const MemoryTraits& traits) {
  const std::string why = memory_obstacle(network, cluster, run, traits);
  if (why.empty()) return "";
  const int largest = largest_batch(network, cluster.device.kind, run, memory_of_rank(cluster, run),
                                    MemoryBound::least, traits);
  if (largest == 0) return fmt::format("{}. {}", why, no_batch);
  return fmt::format("{}. Ask for {} ranks or more, or for a smaller global batch.", why,
                     (global_batch + largest - 1) / largest);
}

void check_memory(const Network& network, const Cluster& cluster, const Run& run, Notes& notes,
                  const MemoryTraits& traits) {
  const Bytes memory = memory_of_rank(cluster, run);
  if (memory <= Bytes()) return;
  const DeviceKind device = cluster.device.kind;
  const MemoryNeed need = memory_need(network, device, run, traits);
  if (need.total() <= memory) return;
  const auto largest_by = [&](MemoryBound bound) {
    return largest_batch(network, device, run, memory, bound, traits);
  };
  if (const std::string why = memory_obstacle(network, cluster, run, traits); !why.empty()) {
    const int most = largest_by(MemoryBound::least);
    throw ConfigError(fmt::format(
        "{}. {}", why, most > 0 ? fmt::format("Ask for a batch of {} or less.", most) : no_batch));
  }
  const int largest = largest_by(MemoryBound::about);
  const std::string needed = gigabytes(need.total());
  const std::string held = gigabytes(memory);
  if (largest > 0) {
    notes.add(NoteKind::memory_short, {run.batch, needed, held, largest});
  } else {
    notes.add(NoteKind::memory_too_small, {run.batch, needed, held});
  }
}

}  // namespace dlscale::model
