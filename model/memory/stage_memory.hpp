#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "model/memory/implementation.hpp"
#include "model/memory/memory_setup.hpp"
#include "model/memory/transformer_shape.hpp"

namespace dlscale::model::memory {

/// The uses of a rank's memory.
enum class MemoryKind {
  weights,
  gradients,      ///< with those accumulated apart
  main_weights,   ///< the optimiser's copy
  moments,        ///< of the optimiser
  activations,    ///< kept from forward to backward, of all micro-batches in flight
  backward,       ///< of one layer: what is recomputed, and gradients that are not yet added
  loss,           ///< logits and what is made from them
  gathered,       ///< weights that ZeRO 3 gathers, and their gradients before they are scattered
  buffers,        ///< of messages, and small tensors of no other kind
  fragmentation,  ///< what a caching allocator reserves over what is live
  libraries,      ///< a CUDA context and communicators
};
inline constexpr std::size_t memory_kinds = 11;
std::string_view to_string(MemoryKind kind);

/// The moments at which the memory of a rank may peak.
enum class MemoryMoment {
  loss,      ///< the last stage holds logits, and all other activations are kept
  backward,  ///< of the last layer of a stage, with all micro-batches in flight
  update,    ///< activations are gone
};
inline constexpr std::size_t memory_moments = 3;
std::string_view to_string(MemoryMoment moment);

/// The part of a rank's memory that a measurement reads.
enum class MemoryCounter {
  allocated,  ///< live tensors
  reserved,   ///< with what the allocator loses
  device,     ///< with what libraries take
};

/// Bytes by kind at one moment.
struct MemoryParts {
  std::array<double, memory_kinds> bytes = {};
  [[nodiscard]] double operator[](MemoryKind kind) const {
    return bytes[static_cast<std::size_t>(kind)];
  }
  double& operator[](MemoryKind kind) { return bytes[static_cast<std::size_t>(kind)]; }
  /// Sum of all kinds that the counter reads.
  [[nodiscard]] double total(MemoryCounter counter) const;
  /// Activations, backward, loss and fragmentation: the part whose size depends most on software.
  [[nodiscard]] double uncertain(MemoryCounter counter) const;
};

/// Memory of a rank of one stage.
struct StageMemory {
  int stage = 0;
  double layers = 0;
  double live_layers = 0;    ///< layers of micro-batches whose activations are kept at once
  double weight_copies = 0;  ///< bytes of weights that are copies in the bits of products
  std::array<MemoryParts, memory_moments> at = {};
  [[nodiscard]] const MemoryParts& parts(MemoryMoment moment) const {
    return at[static_cast<std::size_t>(moment)];
  }
  /// The moment that needs most.
  [[nodiscard]] MemoryMoment peak(MemoryCounter counter) const;
  [[nodiscard]] double peak_bytes(MemoryCounter counter) const {
    return parts(peak(counter)).total(counter);
  }
};

/// Memory of the ranks of stage `stage` with layers `first` to `first + layers`, by
/// kept_activations.hpp, state_memory.hpp and memory_setup.hpp. Throws ConfigError as
/// layers_of_stages() and live_layers() do.
///   loss        b s V/t of the implementation's bytes; with it whole gradients of the vocabulary's
///               matrix and the states around the last norm
///   gathered    ZeRO 3: two layers' weights and gradients, and tables where they stay gathered
///   libraries   library_memory()
StageMemory stage_memory(const TransformerShape& shape, const MemorySetup& setup,
                         const Implementation& way, int stage, double first, double layers);

/// stage_memory() of all stages.
std::vector<StageMemory> stage_memories(const TransformerShape& shape, const MemorySetup& setup,
                                        const Implementation& way);

}  // namespace dlscale::model::memory
