#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"

namespace dlscale::collective {

/// Which algorithm a library takes for a collective, by its own name, and the same in the family:
/// nullptr if the family does not hold it.
struct Selection {
  std::string_view name;
  const Algorithm* algorithm = nullptr;
};

/// What Open MPI's component `tuned` takes by its fixed rules for sums on p ≥ 1 ranks, if all are
/// its own choice (no rules file, no parameters).
/// [ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, commit 8efebee, for commutative operations]
Selection open_mpi_fixed(Collective collective, int p, Bytes m);

/// What MPICH takes on p ≥ 1 ranks of one level for sums of elements of that size, by the default
/// values of its parameters (MPIR_CVAR_…). [src/mpi/coll, commit 6a79bf65]
Selection mpich(Collective collective, int p, Bytes m, Bytes element);

/// What Gloo takes on p ≥ 1 ranks where the caller names no algorithm, as PyTorch and Horovod do:
/// for every size a ring for all-reduce and all-gather, a binomial tree for broadcast, all pairs
/// for all-to-all. Its ring adds one segment of a block while the next travels (at least two of
/// each block, of 1 MiB at most), so that the closed form of a ring is what its wire takes. Its
/// tree starts with neighbours, so that all ranks of a node send to others at once in the end,
/// where ours starts between nodes. Its reduce is a ring's reduce-scatter, after which all send
/// their blocks to the root; it has no reduce-scatter of vectors. [gloo/allreduce.cc at 1d9e62af,
/// broadcast.cc and allgather.cc at 58985072, alltoall.cc at 3d08580f, reduce.cc at 55b6bf77]
Selection gloo(Collective collective, int p);

/// What Horovod's all-reduce is with HOROVOD_HIERARCHICAL_ALLREDUCE=1: on several nodes NCCL's
/// reduce-scatter within them, MPI's all-reduce of each part across them, NCCL's all-gather within;
/// on one node it is ignored (operations.cc: "size != local_size"), and NCCL's all-reduce is left,
/// taken as a ring. Only with as many
/// ranks on each node; the elements that do not divide by these, of which the fusion buffer has
/// none, are left out. [horovod/common/ops/nccl_operations.cc at 0246ec05; MODEL 3.13]
Selection horovod_hierarchical(int p, int ranks_on_node);

/// The number of segments with which an algorithm takes least time by its closed form, for messages
/// of whole elements of that size; 1 if it has none. Requires m ≥ element > 0.
int best_segments(const Algorithm& algorithm, const Links& links, const Settings& settings, Bytes m,
                  Bytes element);

/// An algorithm with its best number of segments.
struct Fastest {
  const Algorithm* algorithm = nullptr;
  int segments = 1;
  Seconds time;
};

/// The one that takes least time by its closed form, in segments as is best for each; the first of
/// several. Those that cannot be set up so are passed over; nullptr if none is left.
Fastest fastest(std::span<const Algorithm* const> among, const Links& links,
                const Settings& settings, Bytes m, Bytes element);

}  // namespace dlscale::collective
