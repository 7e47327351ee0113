#include "backend/compute/cuda/runtime/open.hpp"

namespace dlscale::backend {

extern const ComputeBackend cuda;
const ComputeBackend cuda{
    .name = "cuda",
    .doc = "an NVIDIA GPU: cuDNN, cuBLAS and own kernels, f32, tf32, bf16 and f16, channels last",
    .open = open_cuda,
    .open_probes = open_cuda_probes};

extern const ComputeBackend cuda_nchw;
const ComputeBackend cuda_nchw{.name = "cuda_nchw",
                               .doc = "the same with channels first",
                               .open = open_cuda_nchw,
                               .open_probes = open_cuda_probes};

}  // namespace dlscale::backend
