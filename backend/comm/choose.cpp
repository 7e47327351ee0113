#include "backend/comm/choose.hpp"

#include <fmt/format.h>

namespace dlscale::backend {

Choice choose_communicator(const Prospects& prospects) {
  if (prospects.gradients == DataPlace::host || prospects.ranks == 1) return {"mpi", ""};
  if (prospects.nccl_obstacle.empty()) {
    return {"nccl", fmt::format("each of the {} ranks has a GPU of its own", prospects.ranks)};
  }
  if (prospects.mpi_takes_device_memory) {
    return {"mpi_cuda", fmt::format("this MPI takes memory of GPUs, and NCCL cannot be used: {}",
                                    prospects.nccl_obstacle)};
  }
  return {"mpi_staged",
          fmt::format("this MPI takes memory of the host only, and NCCL cannot be used: {}",
                      prospects.nccl_obstacle)};
}

}  // namespace dlscale::backend
