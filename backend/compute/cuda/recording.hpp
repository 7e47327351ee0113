#pragma once
#include <functional>
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/context.hpp"

namespace dlscale::backend::cuda {

/// Captures what `work` enqueues on the context's stream into a CUDA graph. Throws Unsupported if
/// something in it cannot be captured, by whatever code a library says so, unless the device itself
/// is broken.
std::unique_ptr<Recording> make_recording(const Context& context,
                                          const std::function<void()>& work);

}  // namespace dlscale::backend::cuda
