#pragma once
#include <functional>
#include <string>

#include "backend/comm/communicator.hpp"

namespace dlscale::backend::gpu_comm {

/// Runs `work`, which each rank does by itself, on all, and tells all whether all could: so that
/// none begins with the others what one cannot join. Returns nothing if all could, else why this
/// rank could not, or that another one could not. Collective; one small all-reduce, which throws if
/// that fails.
std::string obstacle_on_any(Communicator& over, const std::function<void()>& work);

}  // namespace dlscale::backend::gpu_comm
