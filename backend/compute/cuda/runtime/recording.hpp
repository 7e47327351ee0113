#pragma once
#include <cuda_runtime_api.h>

#include <functional>
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"

namespace dlscale::backend::cuda {

using CudaGraph = Owner<cudaGraph_t, cudaGraphDestroy>;
using GraphExecutable = Owner<cudaGraphExec_t, cudaGraphExecDestroy>;

/// Captures what `work` enqueues on the stream, and leaves it open for other work whatever `work`
/// throws. Throws Unsupported if something in it cannot be captured, by whatever code a library
/// says so, unless the device itself is broken.
CudaGraph capture(cudaStream_t stream, const std::function<void()>& work);
GraphExecutable instantiate(const CudaGraph& graph);

/// The same as what can be played on the context's stream.
std::unique_ptr<Recording> make_recording(const Context& context,
                                          const std::function<void()>& work);

}  // namespace dlscale::backend::cuda
