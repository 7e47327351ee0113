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

/// Captures what `work` enqueues on the stream. The stream stays usable whatever `work` throws.
/// Throws Unsupported if something in it cannot be captured, whatever code a library reports for
/// this, unless the device itself is broken.
CudaGraph capture(cudaStream_t stream, const std::function<void()>& work);
GraphExecutable instantiate(const CudaGraph& graph);

/// A Recording of the same kind, which can be replayed on the context's stream.
std::unique_ptr<Recording> make_recording(const Context& context,
                                          const std::function<void()>& work);

/// A mark in the order of the context's stream: an event with a time.
std::unique_ptr<Mark> make_mark(const Context& context);

/// A copy stream of its own.
std::unique_ptr<CopyStream> make_copy_stream(const Context& context);

}  // namespace dlscale::backend::cuda
