#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// An output that training keeps from forward to backward. Layers are numbered in network order.
struct SpillTensor {
  std::string name;  ///< of the layer that makes it
  Bytes size;
  std::size_t produced = 0;  ///< the layer that makes it
  /// The layer whose backward is the first to use it, ≥ produced. From its forward step on, it may
  /// be copied to the host.
  std::size_t released = 0;
  std::size_t last_forward = 0;   ///< the last layer whose forward uses it
  std::size_t last_backward = 0;  ///< the layer whose backward is the last to use it; ≤ released
  bool feeds_convolution = false;
  /// Time to compute it anew from outputs that are kept or swapped; absent: a product made it.
  std::optional<Seconds> recompute = {};
  /// Whether a copy to the host can end before it is needed again. False for those of the last
  /// layer, whose backward follows at once.
  bool may_move = true;
  /// `released` if nothing is computed anew from it; absent: the same.
  std::optional<std::size_t> released_alone = {};
};

/// A layer, with its times and the memory of its two steps.
struct SpillLayer {
  Seconds forward;
  Seconds backward;
  /// Bytes that are on the device during each step whatever is moved: outputs in use, and the
  /// gradients that backward reads and writes.
  Bytes live_forward;
  Bytes live_backward;
  /// Bytes of released tensors that forward steps still use, so that they stay though they move.
  Bytes still_forward = {};
  std::vector<std::size_t> forward_uses = {};   ///< tensors, by index
  std::vector<std::size_t> backward_uses = {};  ///< likewise
};

/// An iteration of one rank, as far as it depends on what leaves the device.
struct SpilledTraining {
  std::string name;  ///< "vgg16 with 256 images"
  std::vector<SpillLayer> layers;
  std::vector<SpillTensor> tensors;
  Seconds update;
  Bytes fixed;  ///< parameters, gradients, states of the optimiser, and the next batch

  [[nodiscard]] Seconds compute() const;  ///< all steps and the update, without any stall
  [[nodiscard]] Bytes tensor_bytes() const;
};

/// The training of a run on one device of a machine of data sheets: steps by KernelTimes, memory
/// of parameters by memory_need(). A tensor is an output that backward reads (kept_outputs()); a
/// ReLU takes the place of its input where nothing else reads that. Scores of attention count as
/// fused, and take no memory. A layer is cheap, so that its output may be computed anew, unless it
/// multiplies matrices or drops elements at random. [D, derived from the backward of each kind]
/// Wrong by workspaces, the library's own memory and padding, which are left out, and where
/// gradients of several readers wait beside those of the largest layer. Throws ConfigError if the
/// device lacks figures of its sheet.
SpilledTraining spilled_training(const Network& network, const Machine& machine, const Run& run);

/// The same training, in which no tensor may be computed anew, so that none waits for that.
SpilledTraining without_recompute(SpilledTraining training);

/// A link between a device and its host, in effective figures.
struct HostLink {
  BytesPerSecond to_host;
  BytesPerSecond to_device;
  BytesPerSecond by_faults;  ///< pages that kernels ask for: demand migration
  Seconds start;             ///< of each copy
  [[nodiscard]] Seconds out(Bytes size) const { return start + size / to_host; }
  [[nodiscard]] Seconds in(Bytes size) const { return start + size / to_device; }
};

/// Shares of the nominal rate of PCI Express 3.0 x16 (15.754 GB/s) that a V100 reached. Copies of
/// pinned memory pass 12.35 GB/s, and managed memory beyond the device 5.0 GB/s. [gpu-benches,
/// tables of a V100: host-to-device copies, and STREAM in managed memory 1.5 and 3 times as large
/// as the device]
inline constexpr double copied_share = 12.35 / 15.754;
inline constexpr double faulted_share = 5.0 / 15.754;

/// The link of a cluster's devices, by these shares of its nominal rate and its stated start-up.
/// Wrong for links that are not PCI Express, whose shares were not measured. Throws ConfigError if
/// the cluster states no bandwidth.
HostLink host_link(const Cluster& cluster);

}  // namespace dlscale::model
