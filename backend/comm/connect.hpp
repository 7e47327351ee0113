#pragma once
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend {

/// Facts on which the choice of a communicator depends, for ranks that an MPI launcher started.
/// They are the same on all ranks.
struct Prospects {
  int ranks = 1;
  DataPlace gradients = DataPlace::host;
  std::string nccl_obstacle;  ///< why NCCL cannot join these ranks; empty if it can
  bool mpi_takes_device_memory = false;
};

struct Choice {
  std::string name;  ///< name in the family of communicators
  std::string why;   ///< empty if there was no choice
};

/// The communicator that moves gradients fastest. For GPU memory: NCCL, else an MPI that reads that
/// memory, else MPI by way of host memory. For host memory, or for one rank: MPI.
Choice choose_communicator(const Prospects& prospects);

}  // namespace dlscale::backend
