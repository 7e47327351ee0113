#pragma once
#include <memory>

#include "backend/compute/cuda/probes/companion.hpp"
#include "backend/compute/cuda/probes/copy_way.hpp"
#include "backend/compute/cuda/probes/stand.hpp"

namespace dlscale::backend::cuda {

/// A kernel on all multiprocessors.
std::unique_ptr<Companion> make_kernel_companion(const Stand& stand);
/// Issues copies as `spec` says, one after the other, from a thread of its own, because copies of
/// pageable memory block the thread that issues them.
std::unique_ptr<Companion> make_copy_companion(const Stand& stand, const CopySpec& spec);

}  // namespace dlscale::backend::cuda
