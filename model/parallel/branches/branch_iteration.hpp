#pragma once
#include <optional>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/rank_memory.hpp"

namespace dlscale::model {

/// The place of groups of branches, and what they share.
struct BranchPlace {
  std::optional<int> branches_on_node = {};  ///< absent: what takes least
  bool own_way_out = false;                  ///< as BranchGrid has it
};

/// An iteration of data and sub-graph parallelism.
struct BranchIteration {
  Seconds total;
  Seconds compute;  ///< forward and backward, of the slowest rank
  /// The branches' part of `compute`; messages slow all layers in proportion.
  Seconds branches;
  Seconds exchange;  ///< activations of branches, there and back
  Seconds exposed;   ///< gradients that arrive after backward, and the meeting of ranks
  Seconds update;
  Bytes gradient;   ///< of a rank, over all messages
  Bytes exchanged;  ///< activations that a rank sends
  /// A rank's memory in the terms of memory_need(), with the ends of its range.
  memory::MemoryEstimate memory = {};
  double imbalance = 1;  ///< longest path over the mean, of regions of paths
  int regions = 0;
  int branches_on_node = 1;
};

/// The iteration of run.ranks ranks in groups of `branches`, of which each has run.batch samples
/// for serial layers:
///   t = t_s + t_br i + 2 Σ (t_AG(W x) + t_RS(W y)) + exposed gradients + meeting + update (7.11)
///   gradients   of serial layers over all ranks, of branches over the copies of each branch, in
///               buckets of 1 MiB and 25 MiB as backward makes them ready
///   x, y        outputs that enter and leave a region, for the samples of a rank. Concatenated
///               outputs change places instead of being added: W - 1 messages of y / W each
/// t_s is of run.batch samples, and t_br of the branch's part of layers for W times as many. All
/// computing waits for the slowest rank, and messages slow it down, as in predict(), which one
/// branch equals. [SUPER: Jain et al., IPDPS 2021; D] Exchanges hide gradients in their start-ups
/// alone, since both pass the same links. An output that several regions read is gathered once.
/// Throws ConfigError as check_branches() does, for groups that do not fill nodes, and for a
/// machine that was measured or has processors alone.
BranchIteration branch_iteration(const Network& network, const Machine& machine, const Run& run,
                                 int branches, const BranchPlace& place = {});

/// The time of data parallelism over that of `branches`.
double branch_gain(const Network& network, const Machine& machine, const Run& run, int branches,
                   const BranchPlace& place = {});

}  // namespace dlscale::model
