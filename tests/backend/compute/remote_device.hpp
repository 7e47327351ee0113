#pragma once
#include <memory>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// The reference behind what makes a GPU different: memory that the host cannot touch (an access
/// ends the program), work that a thread of its own does later, in order, and a clock of its own.
/// Code that is right on it needs no memory of the host and waits where it has to.
std::unique_ptr<ComputeDevice> make_remote_device();

}  // namespace dlscale::backend
