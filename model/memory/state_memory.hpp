#pragma once
#include "model/memory/memory_setup.hpp"
#include "model/memory/transformer_shape.hpp"

namespace dlscale::model::memory {

/// Bytes of states on one rank.
struct StateMemory {
  double weights = 0;
  double gradients = 0;  ///< with those accumulated apart
  double main_weights = 0;
  double moments = 0;
  [[nodiscard]] double total() const { return weights + gradients + main_weights + moments; }
  StateMemory& operator+=(const StateMemory& other);
  StateMemory& operator*=(double factor);
};

/// States of Ψ parameters that N ranks share by ZeRO's stage z [arXiv:1910.02054, section 5]:
///   Ψ (w / N if z ≥ 3 + g / N if z ≥ 2 + k / N if z ≥ 1)
StateMemory state_memory(double parameters, double shards, int zero, const StateBytes& bytes);

/// Parameters of one stage on a rank, before ZeRO shards them.
struct StageParameters {
  double dense = 0;    ///< of layers and tables
  double tables = 0;   ///< of those, tables of words
  double experts = 0;  ///< of experts, which fewer replicas share
};

/// Parameters of stage `stage` with layers `first` to `first + layers` on a rank: 1/t of all, 1/ep
/// of experts. The first stage has the table of words, the last one the matrix that decodes words;
/// on one stage a tied one is the table.
StageParameters stage_parameters(const TransformerShape& shape, const MemorySetup& setup, int stage,
                                 double first, double layers);

/// Their states. Experts are shared by N t / ep ranks, at least 1, where ep ranks divide them.
StateMemory stage_states(const StageParameters& parameters, const MemorySetup& setup);

/// Ranks that ZeRO shards experts over.
double expert_shards(const MemorySetup& setup);

}  // namespace dlscale::model::memory
