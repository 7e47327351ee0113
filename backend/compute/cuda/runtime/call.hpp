#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "backend/compute/compute.hpp"

namespace dlscale::backend::cuda {

/// Checks of return codes. `call` is the function's name, `what` its purpose: a layer with its
/// shapes, a copy with its bytes. They throw LibraryError naming call, code and `what`. They throw
/// Unsupported where the code means that a library does not offer something, and ConfigError for
/// out of memory.
void check(cudaError_t code, std::string_view call, std::string_view what);
void check(cudnnStatus_t code, std::string_view call, std::string_view what);
void check(cublasStatus_t code, std::string_view call, std::string_view what);

/// The same where the description is costly: `what` is called only after a failure.
template <class Code, std::invocable Describe>
void check(Code code, std::string_view call, const Describe& what) {
  if (code != Code{}) check(code, call, std::string_view(std::string(what())));
}

/// The same for a call that pins `bytes` of host memory.
void check_pinned(cudaError_t code, std::string_view call, std::size_t bytes);

/// Error message of the last cuDNN call on this thread.
std::string last_cudnn_message();

/// Description of a kernel's operands, for messages: "8 x 64 x 56 x 56 bf16 nhwc", "1000 elements",
/// …
std::string describe(const TensorDesc& desc);
std::string describe_elements(std::size_t count);
std::string describe_bytes(std::size_t bytes);
std::string describe_seconds(Seconds seconds);

}  // namespace dlscale::backend::cuda
