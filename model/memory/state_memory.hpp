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

/// Parameters on a rank, before ZeRO shards them, by the ranks that hold the same.
struct RankParameters {
  double dense = 0;    ///< of attention, norms, feed-forward parts, shared experts and routers
  double experts = 0;  ///< of routed experts, which fewer ranks hold
  [[nodiscard]] double total() const { return dense + experts; }
};

/// Parameters of the layers from `first` to `first + layers` on each of t tensor ranks and ep
/// expert ranks, both ≥ 1: 1/t of dense ones, and 1/ep of the experts, each whole. Without expert
/// parallelism (ep = 1), tensor ranks cut each expert. Norms and routers, which frameworks keep
/// whole, count as cut, too, and biases are left out.
RankParameters layer_parameters(const TransformerShape& shape, double tensor, double experts,
                                double first, double layers);

/// Ranks that hold the same experts, of N ranks that hold the same dense parameters: N t / ep, at
/// least 1; N without expert parallelism. [Megatron-LM, expert parallelism without tensor
/// parallelism of experts]
double ranks_of_expert(double ranks, double tensor, double experts);

/// Parameters of one stage on a rank, before ZeRO shards them.
struct StageParameters {
  double dense = 0;    ///< of layers and tables
  double tables = 0;   ///< of those, tables of words
  double experts = 0;  ///< of experts, which fewer replicas share
};

/// Parameters of stage `stage` with layers `first` to `first + layers` on a rank:
/// layer_parameters(), and 1/t of tables. The first stage has the table of words, the last one the
/// matrix that decodes words; on one stage a tied one is the table.
StageParameters stage_parameters(const TransformerShape& shape, const MemorySetup& setup, int stage,
                                 double first, double layers);

/// Bytes of copies of their weights in the bits of products, which are kept over micro-batches, but
/// for tables, and unless ZeRO 3 gathers weights anew.
/// [NVIDIA/TransformerEngine pytorch/module/linear.py, _fp8_workspaces @d0067d0d]
double weight_copies(const StageParameters& parameters, const MemorySetup& setup);

/// Their states, with those copies. Experts are sharded over expert_shards().
StateMemory stage_states(const StageParameters& parameters, const MemorySetup& setup);

/// Ranks that ZeRO shards experts over: ranks_of_expert().
double expert_shards(const MemorySetup& setup);

}  // namespace dlscale::model::memory
