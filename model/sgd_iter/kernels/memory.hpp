#pragma once
#include <cstdint>
#include <string>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// Memory of training on one rank's device, for N images of e bytes an element, Ψ parameters and
/// A_l elements in the output of layer l for one image. It takes about:
///   parameters  4Ψ: f32 master weights
///   states      4Ψ gradients + 4Ψ momenta (+ 2Ψ: weights for kernels of 16 bits)
///   activations N e Σ_l A_l: every output, including the images, is kept for backward. A ReLU that
///               alone reads its input takes that one's place. With attention, only those that
///               backward reads (core/network/kept_outputs.hpp)
///   gradients   N e max_l (A_l + Σ A of its inputs): of the layer whose backward needs most
///   batch       the next one, while it is copied to a device with its own memory
/// The sum is somewhat low. It leaves out kernel workspaces, padding of layouts, the libraries' own
/// memory, and gradients kept beside those of the largest layer. It also leaves out the layers'
/// state for backward (places of maxima, masks, statistics).
///
/// The least that it takes, however it is done:
///   least_states  4Ψ momenta + eΨ gradients (+ eΨ weights in 16 bits)
///   kept          N e (A_input + Σ A_l over convolutions and fully connected layers): backward can
///                 compute all other outputs anew at little cost. An output that only a pooling
///                 reads counts as what the pooling leaves, with a byte for the place of each.
/// [D: from the backward of each kind of layer] It is too high where convolutions run twice, too.
struct MemoryNeed {
  Bytes parameters;
  Bytes states;
  Bytes activations;
  Bytes gradients;
  Bytes batch;
  Bytes least_states;  ///< ≤ states
  Bytes kept;          ///< ≤ activations
  [[nodiscard]] Bytes least() const { return parameters + least_states + kept; }
  [[nodiscard]] Bytes total() const {
    return parameters + states + activations + gradients + batch;
  }
};

/// Requires a network as it runs (as_run()).
MemoryNeed memory_need(const Network& network, DeviceKind device, const Run& run);

/// The most images per rank whose total() fits in `memory`; 0 if none.
int largest_batch(const Network& network, DeviceKind device, const Run& run, Bytes memory);

/// Memory that the cluster states for each rank; on processors, ranks of a node share it. 0 where
/// it states none.
Bytes memory_of_rank(const Cluster& cluster, const Run& run);

/// The reason why check_memory() rejects run.batch as a share of `global_batch`, and what to ask
/// for instead; empty where the share fits.
std::string share_obstacle(const Network& network, const Cluster& cluster, const Run& run,
                           std::int64_t global_batch);

/// Throws ConfigError if least() exceeds the memory that the cluster states for each rank (on
/// processors, ranks of a node share it). Adds a note if only total() exceeds it: such trainings
/// may run. Skips clusters and machines that state none.
void check_memory(const Network& network, const Cluster& cluster, const Run& run, Notes& notes);

}  // namespace dlscale::model
