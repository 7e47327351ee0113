#pragma once
#include <mpi.h>

#include <memory>

#include "backend/comm/collective.hpp"
#include "backend/comm/mpi/session.hpp"

namespace dlscale::backend {

/// MPI's own operator, for MPI's own types.
MPI_Op mpi_op(Reduction op);

/// An MPI communicator as one of its ranks sees it. It outlives the operations prepared on it.
struct MpiGroup {
  std::shared_ptr<MpiSession> session;
  MPI_Comm comm = MPI_COMM_NULL;
  Rank rank = 0;
  int size = 1;
};

/// A collective of the MPI library. MPI has no 16-bit floats: bf16 and f16 travel as integers and
/// are reduced by our own operators, as combine() defines. Throws Unsupported in four cases: blocks
/// of more than 2^30 elements, which MPI's ints cannot count safely; persistent collectives in a
/// library without them; device memory in calls that do not block; device memory with our own
/// operators, which add on the host.
std::unique_ptr<PreparedCollective> prepare_mpi(MpiGroup group, const CollectiveCall& call,
                                                Mode mode);

}  // namespace dlscale::backend
