#pragma once
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::model {

/// Open MPI's algorithms where they are not those of the family
/// [ompi/mca/coll/base/coll_base_allreduce.c, commit 07a69c3, for commutative operations].

/// What Open MPI takes where its rules name `named` for m bytes of `element` each: a ring of fewer
/// elements than ranks is recursive doubling there. nullptr as `named`.
const collective::Algorithm* open_mpi_carries(const collective::Algorithm* named, int ranks,
                                              Bytes m, Bytes element);

/// Whether it is Rabenseifner's all-reduce on a number of ranks that is no power of 2. Open MPI's
/// pairs then send each other half of the message, add, and send one half on, where those of the
/// family send the whole of it one way: one message more, as many bytes in turn, and half a message
/// less to add.
bool open_mpi_halves(const collective::Algorithm& algorithm, int ranks);

/// The schedule that Open MPI carries out for an algorithm of the family.
collective::Schedule open_mpi_schedule(const collective::Algorithm& algorithm,
                                       const collective::Settings& settings);

}  // namespace dlscale::model
