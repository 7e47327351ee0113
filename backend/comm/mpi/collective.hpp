#pragma once
#include <mpi.h>

#include <memory>

#include "backend/comm/collective.hpp"
#include "backend/comm/mpi/session.hpp"

namespace dlscale::backend {

/// MPI's own operator, for the types that it knows.
MPI_Op mpi_op(Reduction op);

/// A communicator of MPI, which outlives what is prepared on it, as one of its ranks sees it.
struct MpiGroup {
  std::shared_ptr<MpiSession> session;
  MPI_Comm comm = MPI_COMM_NULL;
  Rank rank = 0;
  int size = 1;
};

/// A collective of the library's own. MPI has no 16-bit floats: bf16 and f16 travel as whole
/// numbers, and are reduced by operators of ours, as combine() says. Throws Unsupported for blocks
/// of more than 2^30 elements, which MPI's ints cannot count safely, for persistent collectives of
/// a library that has none, and of memory of devices for calls that do not block and operators of
/// ours, which add on the host.
std::unique_ptr<PreparedCollective> prepare_mpi(MpiGroup group, const CollectiveCall& call,
                                                Mode mode);

}  // namespace dlscale::backend
