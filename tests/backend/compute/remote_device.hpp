#pragma once
#include <atomic>
#include <memory>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// The reference behind what makes a GPU different: memory that the host cannot touch (an access
/// ends the program), work that a thread of its own does later, in order, and a clock of its own.
/// Code that is right on it needs no memory of the host and waits where it has to.
std::unique_ptr<ComputeDevice> make_remote_device();

/// Likewise, but it gives memory of the host only `left` times more; then it throws ConfigError.
std::unique_ptr<ComputeDevice> make_remote_device_with_host_memory(
    std::shared_ptr<std::atomic<int>> left);

}  // namespace dlscale::backend
