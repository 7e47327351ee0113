#pragma once
#include <memory>

#include "backend/compute/device_probes.hpp"

namespace dlscale::backend {

struct ComputeOptions;

/// Opens the probes of GPU number `options.place`. Throws the errors of open_cuda().
std::unique_ptr<DeviceProbes> open_cuda_probes(const ComputeOptions& options);

}  // namespace dlscale::backend
