#pragma once
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::model {

/// Open MPI's all-reduce algorithms where they differ from those of the family
/// [ompi/mca/coll/base/coll_base_allreduce.c, commit 07a69c3, for commutative operations].

/// The algorithm Open MPI runs where its rules name `named` for m bytes of `element` each: it
/// replaces a ring of fewer elements than ranks by recursive doubling. nullptr as `named`.
const collective::Algorithm* open_mpi_carries(const collective::Algorithm* named, int ranks,
                                              Bytes m, Bytes element);

/// Whether it is Rabenseifner's all-reduce on a number of ranks that is not a power of 2. Open
/// MPI's pairs then exchange halves of the message, add, and send one half on; those of the family
/// send the whole message one way. That is one message more, as many bytes in turn, and half a
/// message less to add.
bool open_mpi_halves(const collective::Algorithm& algorithm, int ranks);

/// The schedule by which Open MPI executes an algorithm of the family.
collective::Schedule open_mpi_schedule(const collective::Algorithm& algorithm,
                                       const collective::Settings& settings);

}  // namespace dlscale::model
