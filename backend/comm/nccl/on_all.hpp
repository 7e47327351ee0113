#pragma once
#include <functional>
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend::gpu_comm {

/// Runs the local `work` of each rank on all ranks and reports to all whether every rank succeeded.
/// So no rank begins a collective that another one cannot join. Returns nothing on success, else
/// why this rank failed, or that another one did. Collective; one small all-reduce, which throws if
/// it fails.
std::string obstacle_on_any(Communicator& over, const std::function<void()>& work);

}  // namespace dlscale::backend::gpu_comm
