#pragma once
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// What the choice of a communicator depends on, for ranks that a launcher of MPI started; the same
/// on all of them.
struct Prospects {
  int ranks = 1;
  DataPlace gradients = DataPlace::host;
  std::string nccl_obstacle;  ///< why NCCL cannot join these ranks; empty if it can
  bool mpi_takes_device_memory = false;
};

struct Choice {
  std::string name;  ///< of the family of communicators
  std::string why;   ///< empty where there was nothing to choose
};

/// What moves gradients fastest: in memory of GPUs NCCL, else an MPI that reads that memory, else
/// MPI by way of host memory; in host memory, or of one rank, MPI.
Choice choose_communicator(const Prospects& prospects);

}  // namespace dlscale::backend
