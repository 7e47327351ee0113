#pragma once
#include <span>
#include <string_view>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::collective {

/// A library's algorithm for a collective, by its own name, and the equivalent one of the family;
/// nullptr if the family does not have it.
struct Selection {
  std::string_view name;
  const Algorithm* algorithm = nullptr;
};

/// Choice of Open MPI's component `tuned` by its fixed rules, for sums on p ≥ 1 ranks, without a
/// rules file or parameters. [ompi/mca/coll/tuned/coll_tuned_decision_fixed.c, commit 8efebee, for
/// commutative operations]
Selection open_mpi_fixed(Collective collective, int p, Bytes m);

/// MPICH's choice for sums of elements of `element` bytes on p ≥ 1 ranks of one level, with default
/// parameters (MPIR_CVAR_…). [src/mpi/coll, commit 6a79bf65]
Selection mpich(Collective collective, int p, Bytes m, Bytes element);

/// Gloo's choice on p ≥ 1 ranks if the caller does not name an algorithm, as PyTorch and Horovod
/// do. It is the same for every size: a ring for all-reduce and all-gather, a binomial tree for
/// broadcast, all pairs for all-to-all.
///
/// The ring adds one segment of a block while the next one travels (at least two per block, of at
/// most 1 MiB). So the closed form of a ring is the time on its wire. The tree starts with
/// neighbours, so that all ranks of a node send to others concurrently at the end; ours starts
/// between nodes. Gloo's reduce is a ring's reduce-scatter, after which all send their blocks to
/// the root; Gloo has no reduce-scatter of vectors. [gloo/allreduce.cc at 1d9e62af, broadcast.cc
/// and allgather.cc at 58985072, alltoall.cc at 3d08580f, reduce.cc at 55b6bf77]
Selection gloo(Collective collective, int p);

/// Horovod's all-reduce with HOROVOD_HIERARCHICAL_ALLREDUCE=1. On several nodes: NCCL's
/// reduce-scatter within nodes, MPI's all-reduce of each part across them, NCCL's all-gather within
/// nodes. On one node the variable is ignored (operations.cc: "size != local_size"); NCCL's
/// all-reduce is then modelled as a ring. Requires the same number of ranks on each node. Elements
/// that do not divide by it are neglected; the fusion buffer has none.
/// [horovod/common/ops/nccl_operations.cc at 0246ec05]
Selection horovod_hierarchical(int p, int ranks_on_node);

/// Number of segments for which an algorithm is fastest by its closed form, for messages of whole
/// elements of `element` bytes; 1 if it has no segments. Requires m ≥ element > 0.
int best_segments(const Algorithm& algorithm, const Links& links, const Settings& settings, Bytes m,
                  Bytes element);

/// An algorithm with its optimal number of segments.
struct Fastest {
  const Algorithm* algorithm = nullptr;
  int segments = 1;
  Seconds time;
};

/// The fastest algorithm by closed form, each with its optimal number of segments; the first of
/// several. Algorithms that do not support the settings are skipped; nullptr if none is left.
Fastest fastest(std::span<const Algorithm* const> among, const Links& links,
                const Settings& settings, Bytes m, Bytes element);

/// The optimal segments of a message of m bytes along a chain of p ranks. With k segments the time
/// is
///   T(k) = (p - 2 + k)(α + m/k (β + γ))   [arXiv:1707.09414; γ = 0 for a broadcast]
/// For a real c = m/k: c* = √(m α / ((p-2)(β + γ))) and T* = (√((p-2) α) + √(m (β + γ)))².
/// Two ranks are not a chain: one segment is optimal.

/// c*, limited to [element, m]. Requires 0 < element ≤ m, p ≥ 1.
Bytes optimal_chunk(const Link& link, int p, Bytes m, Bytes element);

/// T*, a lower bound on the time with whole segments; requires p ≥ 2.
Seconds optimal_chain_time(const Link& link, int p, Bytes m);

/// The faster of the two whole numbers of segments next to m/c*.
int optimal_segments(const Link& link, int p, Bytes m, Bytes element);

}  // namespace dlscale::collective
