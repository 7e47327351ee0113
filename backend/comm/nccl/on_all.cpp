#include "backend/comm/nccl/on_all.hpp"

#include <exception>
#include <span>

namespace dlscale::backend::gpu_comm {

std::string obstacle_on_any(Communicator& over, const std::function<void()>& work) {
  std::string obstacle;
  double failed = 0;
  try {
    work();
  } catch (const std::exception& error) {
    failed = 1;
    obstacle = error.what();
  }
  over.all_reduce(std::span(&failed, 1), Reduction::max);
  if (failed > 0 && obstacle.empty()) obstacle = "another rank cannot ask.";
  return obstacle;
}

}  // namespace dlscale::backend::gpu_comm
