#pragma once
#include <memory>

#include "backend/compute/device_probes.hpp"

namespace dlscale::backend {

struct ComputeOptions;

/// Probes of the GPU of number `options.place`. Throws what open_cuda() throws.
std::unique_ptr<DeviceProbes> open_cuda_probes(const ComputeOptions& options);

}  // namespace dlscale::backend
