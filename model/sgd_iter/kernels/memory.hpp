#pragma once
#include <cstdint>
#include <string>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// What training keeps in the memory of one rank's device (MODEL 6.1, 6.2, 6.5), for N images of
/// e bytes an element, Ψ parameters and A_l elements in the output of layer l for one image:
///   parameters  4Ψ: f32 master weights
///   states      4Ψ gradients + 4Ψ momenta (+ 2Ψ: weights for kernels of 16 bits)
///   activations N e Σ_l A_l: every output, the images among them, is kept for backward
///   gradients   N e max_l (A_l + Σ A of its inputs): of the layer whose backward needs most
///   batch       the next one, as it travels to a device with memory of its own
/// Leaves out, so that it is somewhat low: the workspace of kernels, what layers note for backward
/// (places of maxima, masks, statistics), gradients that wait beside those of the largest layer,
/// padding of layouts, and what libraries take for themselves.
struct MemoryNeed {
  Bytes parameters;
  Bytes states;
  Bytes activations;
  Bytes gradients;
  Bytes batch;
  /// What no way to train by these layers can do without.
  [[nodiscard]] Bytes least() const { return parameters + activations; }
  [[nodiscard]] Bytes total() const {
    return parameters + states + activations + gradients + batch;
  }
};

/// Of a network as it runs (as_run()).
MemoryNeed memory_need(const Network& network, DeviceKind device, const Run& run);

/// The most images per rank whose total() is within `memory`; 0 if there are none.
int largest_batch(const Network& network, DeviceKind device, const Run& run, Bytes memory);

/// What the cluster states for each rank; of processors a share, for ranks of a node share it. 0
/// where it states none.
Bytes memory_of_rank(const Cluster& cluster, const Run& run);

/// Why a share of `global_batch` that run.batch is cannot be trained with, as check_memory() finds
/// it, and what to ask for instead; empty where it can.
std::string share_obstacle(const Network& network, const Cluster& cluster, const Run& run,
                           std::int64_t global_batch);

/// Throws ConfigError if least() is more than the memory that the cluster states for each rank (on
/// processors, ranks of a node share it), and notes it if total() is. Clusters and machines that
/// state none pass.
void check_memory(const Network& network, const Cluster& cluster, const Run& run, Notes& notes);

}  // namespace dlscale::model
