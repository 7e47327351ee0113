#pragma once
#include <memory>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {

// The GPU of number `options.place`, with the tensors between its operations as N × H × W × C or as
// N × C × H × W. They throw what refuse_device() throws.
//
// The members of the family are called cuda and cuda_nchw, and the namespace of this folder is
// called cuda too: so the one file that defines them includes this header alone.
std::unique_ptr<ComputeDevice> open_cuda(const ComputeOptions& options);
std::unique_ptr<ComputeDevice> open_cuda_nchw(const ComputeOptions& options);

}  // namespace dlscale::backend
