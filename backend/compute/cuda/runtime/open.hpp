#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/device_probes.hpp"

namespace dlscale::backend {

// Open GPU number `options.place`, with the tensors between its operations as N × H × W × C or as N
// × C × H × W. They throw the errors of refuse_device().
//
// The members of the family are called cuda and cuda_nchw, and so is the namespace of this folder
// (cuda). Therefore the one file that defines them includes only this header.
std::unique_ptr<ComputeDevice> open_cuda(const ComputeOptions& options);
std::unique_ptr<ComputeDevice> open_cuda_nchw(const ComputeOptions& options);

struct ComputeOptions;

/// Opens the probes of GPU number `options.place`. Throws the errors of open_cuda().
std::unique_ptr<DeviceProbes> open_cuda_probes(const ComputeOptions& options);

}  // namespace dlscale::backend
