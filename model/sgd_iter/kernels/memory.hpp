#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/run/compute_traits.hpp"
#include "core/run/run.hpp"
#include "model/memory/library_memory.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// How software trains, as far as memory depends on it; absent: unknown.
struct MemoryTraits {
  std::optional<int> optimiser_states = {};  ///< numbers of f32 kept a parameter: 0 … 2
  std::optional<bool> fused_attention = {};  ///< scores stay out of memory [arXiv:2205.14135]
};

/// Finds what the software's profile states about such a training.
MemoryTraits memory_traits(const Network& network, DType dtype,
                           const std::vector<ComputeRow>& software);

/// Memory of training on one rank's device, for N samples of e bytes an element, Ψ parameters and
/// A_l elements in the output of layer l for one sample. It takes about:
///   parameters  4Ψ: f32 master weights
///   states      4Ψ gradients + 4sΨ of the optimiser (+ 2Ψ: weights for kernels of 16 bits). s = 0
///               for SGD, 1 for momentum, 2 for Adam; unknown: 2 with attention, else 1
///   activations N e Σ_l A_l: every output, including the images, is kept for backward. A ReLU that
///               alone reads its input takes that one's place. With attention, only those that
///               backward reads (core/network/kept_outputs.hpp), and no scores where attention is
///               fused or nothing is known. In 16 bits, inputs of losses are also kept in f32
///               [PyTorch, operations that autocast to float32]
///   gradients   N e max_l (A_l + Σ A of its inputs): of the layer whose backward needs most,
///               those of losses again in f32
///   batch       the next one, while it is copied to a device with its own memory
///   libraries   memory::library_memory() of a GPU, with messages where there are several ranks
/// The sum is somewhat low. It leaves out kernel workspaces, padding of layouts, and gradients kept
/// beside those of the largest layer. It also leaves out the layers' state for backward (places of
/// maxima, masks, statistics).
///
/// The least that it takes, however it is done, beside the least of libraries:
///   least_states  eΨ gradients + 4sΨ (+ eΨ weights in 16 bits), s = 0 if unknown
///   kept          N e (A_input + Σ A_l over products, fused attention being one): backward can
///                 compute all other outputs anew at little cost. An output that only a pooling
///                 reads counts as what the pooling leaves, with a byte for the place of each. One
///                 that only a loss reads may be made in pieces, and does not count.
/// [D: from the backward of each kind of layer] It is too high where products run twice, too.
///
/// The most that is usual:
///   most_states   as states, with s = 2 if unknown
///   scores        N e (heads T S) of each attention that is not known to be fused
///   and half the activations more, for copies that frameworks keep and for what their allocators
///   lose, with the most of libraries [D: trainings of nanotron need 1.1 to 1.2 times what total()
///   counts beside libraries, tests/model/memory_test.cpp]
struct MemoryNeed {
  Bytes parameters;
  Bytes states;
  Bytes activations;
  Bytes gradients;
  Bytes batch;
  Bytes least_states;                    ///< ≤ states
  Bytes kept;                            ///< ≤ activations
  Bytes most_states;                     ///< ≥ states
  Bytes scores;                          ///< 0 where attention is fused, or activations have them
  memory::LibraryMemory libraries = {};  ///< 0 on processors
  [[nodiscard]] Bytes least() const {
    return parameters + least_states + kept + Bytes(libraries.low);
  }
  [[nodiscard]] Bytes total() const {
    return parameters + states + activations + gradients + batch + Bytes(libraries.bytes);
  }
  [[nodiscard]] Bytes most() const;
};

/// Requires a network as it runs (as_run()).
MemoryNeed memory_need(const Network& network, DeviceKind device, const Run& run,
                       const MemoryTraits& traits = {});

/// Bounds of a batch by memory.
enum class MemoryBound {
  least,  ///< MemoryNeed::least(): more cannot run
  about,  ///< MemoryNeed::total()
};

/// The most samples per rank whose need fits in `memory`; 0 if none.
int largest_batch(const Network& network, DeviceKind device, const Run& run, Bytes memory,
                  MemoryBound bound, const MemoryTraits& traits = {});

/// Memory that a rank can allocate: usable_memory() of its GPU; on processors, ranks of a node
/// share what the cluster states. 0 where it states none.
Bytes memory_of_rank(const Cluster& cluster, const Run& run);

/// The reason why check_memory() rejects run.batch as a share of `global_batch`, and what to ask
/// for instead; empty where the share fits.
std::string share_obstacle(const Network& network, const Cluster& cluster, const Run& run,
                           std::int64_t global_batch, const MemoryTraits& traits = {});

/// Throws ConfigError if least() exceeds memory_of_rank(). Adds a note if only total() exceeds it:
/// such trainings may run. Skips clusters and machines that state none.
void check_memory(const Network& network, const Cluster& cluster, const Run& run, Notes& notes,
                  const MemoryTraits& traits = {});

}  // namespace dlscale::model
