#include "model/memory/out_of_core/spilled_training.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <variant>

#include "core/base/error.hpp"
#include "core/network/kept_outputs.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/kernels/kernel_time.hpp"
#include "model/sgd_iter/kernels/memory.hpp"

namespace dlscale::model {
namespace {

template <class... Kinds>
bool is_one_of(const Layer& layer) {
  return (std::holds_alternative<Kinds>(layer.kind) || ...);
}

/// Whether fused attention never writes the layer's output to memory.
bool is_of_scores(const Layer& layer) {
  return is_one_of<AttentionScores, AttentionSoftmax, RelativePositions, RelativeScores>(layer);
}

/// Whether its output may be computed anew at little cost.
bool is_cheap(const Layer& layer) {
  return !is_one_of<Input, Convolution, TransposedConvolution, FullyConnected, Linear, ExpertLinear,
                    AttentionScores, AttentionSoftmax, AttentionContext, RelativePositions,
                    RelativeScores, Dropout>(layer) &&
         !is_loss(layer.kind);
}

/// Makes the description of a training from its network.
class Spilling {
 public:
  Spilling(const Network& network, const Run& run)
      : network_(&network), run_(&run), kept_(kept_outputs(network)) {}

  void add_layers(const KernelTimes& kernels, SpilledTraining& training) const {
    training.layers.resize(network_->layers().size());
    for (const Step step : forward_steps(*network_)) {
      training.layers[step.layer.index()].forward += kernels.time(step).value;
    }
    for (const Step step : backward_steps(*network_)) {
      training.layers[step.layer.index()].backward += kernels.time(step).value;
    }
  }

  void add_tensors(SpilledTraining& training) const {
    ByLayer tensors(network_->layers().size());
    for (const Layer& layer : network_->layers()) {
      if (!is_kept(layer)) continue;
      SpillTensor tensor;
      tensor.name = layer.name;
      tensor.size = bytes(layer);
      tensor.produced = layer.id.index();
      add_uses(layer, training.tensors.size(), tensor, training);
      if (is_between(tensor, training)) tensor.recompute = recompute_time(layer, tensors, training);
      if (tensor.recompute) lengthen_bases(layer, tensor.released, tensors, training);
      tensors[layer.id.index()] = training.tensors.size();
      training.tensors.push_back(std::move(tensor));
    }
    for (SpillTensor& tensor : training.tensors) tensor.may_move = is_between(tensor, training);
  }

  /// Sums what is live in the steps of each layer.
  void add_live(SpilledTraining& training) const {
    for (const SpillTensor& tensor : training.tensors) {
      for (std::size_t at = tensor.produced; at <= tensor.released; ++at) {
        training.layers[at].live_forward += tensor.size;
        if (at >= tensor.last_backward) training.layers[at].live_backward += tensor.size;
      }
      for (std::size_t at = tensor.released + 1; at <= tensor.last_forward; ++at) {
        training.layers[at].still_forward += tensor.size;
      }
    }
    for (const Layer& layer : network_->layers()) {
      add_passing(layer, training);
      if (is_of_scores(layer) || layer.id.index() == 0) continue;
      Bytes gradients = bytes(layer);
      if (!runs_in_place(layer) && !is_one_of<Sum>(layer)) gradients += gradients_of_inputs(layer);
      training.layers[layer.id.index()].live_backward += gradients;
    }
  }

 private:
  /// By layer, the index of its tensor.
  using ByLayer = std::vector<std::optional<std::size_t>>;

  /// Whether steps lie between its last use in forward and its first in backward.
  static bool is_between(const SpillTensor& tensor, const SpilledTraining& training) {
    return tensor.released + 1 < training.layers.size();
  }
  [[nodiscard]] Bytes bytes(const Layer& layer) const {
    if (is_of_scores(layer)) return {};
    return static_cast<double>(run_->batch) *
           Bytes(static_cast<double>(element_bytes(run_->dtype)) *
                 static_cast<double>(layer.output.elements()));
  }
  [[nodiscard]] bool is_kept(const Layer& layer) const {
    return kept_[layer.id.index()] && bytes(layer) > Bytes() && !is_loss(layer.kind);
  }
  /// Whether its output takes the place of its input.
  [[nodiscard]] bool runs_in_place(const Layer& layer) const {
    return is_one_of<Relu>(layer) && network_->consumers(layer.inputs.front()).size() == 1 &&
           !kept_[layer.inputs.front().index()];
  }
  [[nodiscard]] Bytes gradients_of_inputs(const Layer& layer) const {
    Bytes sum;
    for (const LayerId input : layer.inputs) sum += bytes(network_->layer(input));
    return sum;
  }

  void add_uses(const Layer& layer, std::size_t index, SpillTensor& tensor,
                SpilledTraining& training) const {
    const std::size_t own = layer.id.index();
    tensor.released = tensor.last_forward = own;
    training.layers[own].forward_uses.push_back(index);
    std::size_t last = training.layers.size();
    const auto read_back_by = [&](std::size_t reader) {
      tensor.released = std::max(tensor.released, reader);
      last = std::min(last, reader);
      training.layers[reader].backward_uses.push_back(index);
    };
    if (backward_reads(layer).output) read_back_by(own);
    for (const LayerId id : network_->consumers(layer.id)) {
      const Layer& reader = network_->layer(id);
      tensor.last_forward = std::max(tensor.last_forward, id.index());
      tensor.feeds_convolution |= is_one_of<Convolution, TransposedConvolution>(reader);
      training.layers[id.index()].forward_uses.push_back(index);
      if (backward_reads(reader).inputs) read_back_by(id.index());
    }
    tensor.last_backward = std::min(last, tensor.released);
  }

  /// Time of a cheap layer, with cheap ones before it whose outputs are not kept. Absent where a
  /// product comes before a kept output, and where such an output may itself be computed anew.
  [[nodiscard]] std::optional<Seconds> recompute_time(const Layer& layer, const ByLayer& tensors,
                                                      const SpilledTraining& training) const {
    if (!is_cheap(layer)) return {};
    Seconds sum = training.layers[layer.id.index()].forward;
    for (const LayerId id : layer.inputs) {
      if (const std::optional<std::size_t> base = tensors[id.index()]) {
        if (training.tensors[*base].recompute) return {};
        continue;
      }
      const auto before = recompute_time(network_->layer(id), tensors, training);
      if (!before) return {};
      sum += *before;
    }
    return sum;
  }

  /// Keeps what a tensor is computed from until then.
  void lengthen_bases(const Layer& layer, std::size_t released, const ByLayer& tensors,
                      SpilledTraining& training) const {
    for (const LayerId id : layer.inputs) {
      if (const std::optional<std::size_t> base = tensors[id.index()]) {
        SpillTensor& tensor = training.tensors[*base];
        if (!tensor.released_alone) tensor.released_alone = tensor.released;
        tensor.released = std::max(tensor.released, released);
      } else {
        lengthen_bases(network_->layer(id), released, tensors, training);
      }
    }
  }

  /// An output that no backward reads stays until its last reader has run.
  void add_passing(const Layer& layer, SpilledTraining& training) const {
    if (is_kept(layer)) return;
    std::size_t last = layer.id.index();
    for (const LayerId id : network_->consumers(layer.id)) {
      const bool taken = runs_in_place(network_->layer(id));
      last = std::max(last, taken ? id.index() - 1 : id.index());
    }
    for (std::size_t at = layer.id.index(); at <= last; ++at) {
      training.layers[at].live_forward += bytes(layer);
    }
  }

  const Network* network_;
  const Run* run_;
  std::vector<bool> kept_;
};

}  // namespace

Seconds SpilledTraining::compute() const {
  return std::accumulate(
      layers.begin(), layers.end(), update,
      [](Seconds sum, const SpillLayer& layer) { return sum + layer.forward + layer.backward; });
}

Bytes SpilledTraining::tensor_bytes() const {
  return std::accumulate(tensors.begin(), tensors.end(), Bytes(),
                         [](Bytes sum, const SpillTensor& one) { return sum + one.size; });
}

SpilledTraining spilled_training(const Network& read, const Machine& machine, const Run& run) {
  check(run);
  const Network network = as_run(read, run);
  Notes notes;
  const KernelTimes kernels(network, machine, run, 1, notes);
  const MemoryNeed need = memory_need(network, machine.cluster.device.kind, run,
                                      memory_traits(network, run.dtype, machine.software));
  SpilledTraining training;
  training.name = fmt::format("{} with {} {}", network.name(), run.batch, network.samples());
  const auto parameters = static_cast<double>(network.parameter_count());
  constexpr double f32_bytes = 4;
  if (const auto update = kernels.update(Bytes(f32_bytes * parameters))) {
    training.update = update->value;
  }
  training.fixed = need.parameters + need.states + need.batch;
  const Spilling spilling(network, run);
  spilling.add_layers(kernels, training);
  spilling.add_tensors(training);
  spilling.add_live(training);
  return training;
}

SpilledTraining without_recompute(SpilledTraining training) {
  for (SpillTensor& tensor : training.tensors) {
    tensor.recompute.reset();
    if (!tensor.released_alone) continue;
    for (std::size_t at = *tensor.released_alone + 1; at <= tensor.released; ++at) {
      training.layers[at].live_forward -= tensor.size;
      training.layers[at].live_backward -= tensor.size;
      if (at <= tensor.last_forward) training.layers[at].still_forward += tensor.size;
    }
    tensor.released = *tensor.released_alone;
    tensor.released_alone.reset();
    tensor.may_move = tensor.released + 1 < training.layers.size();
  }
  return training;
}

HostLink host_link(const Cluster& cluster) {
  const LinkSpec& link = cluster.host_device;
  if (link.bandwidth <= BytesPerSecond()) {
    throw ConfigError(
        fmt::format("cluster {} states no bandwidth between devices and their host, over which "
                    "outputs would be swapped. Add links.host_device.bandwidth.",
                    cluster.name));
  }
  const BytesPerSecond copied = copied_share * link.bandwidth;
  return {copied, copied, faulted_share * link.bandwidth, link.latency};
}

}  // namespace dlscale::model
