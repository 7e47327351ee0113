#pragma once
#include <memory>

#include "backend/compute/cuda/probes/companion.hpp"
#include "backend/compute/cuda/probes/copy_way.hpp"
#include "backend/compute/cuda/probes/stand.hpp"

namespace dlscale::backend::cuda {

/// A kernel on all multiprocessors.
std::unique_ptr<Companion> make_kernel_companion(const Stand& stand);
/// Copies as `spec` says, one after the other, issued by a thread of their own: those of pageable
/// memory keep the thread that issues them.
std::unique_ptr<Companion> make_copy_companion(const Stand& stand, const CopySpec& spec);

}  // namespace dlscale::backend::cuda
