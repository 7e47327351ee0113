#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <string_view>

namespace dlscale::backend::cuda {

/// Checks of the return codes. `call` is the function's name, `what` what it was called for: a
/// layer with its shapes, a copy with its bytes. They throw LibraryError naming call, code and
/// `what`; Unsupported where the code says that a library does not offer something; ConfigError for
/// out of memory.
void check(cudaError_t code, std::string_view call, std::string_view what);
void check(cudnnStatus_t code, std::string_view call, std::string_view what);
void check(cublasStatus_t code, std::string_view call, std::string_view what);

/// After a kernel was launched: checks that it could be.
void check_launch(std::string_view kernel, std::string_view what);

}  // namespace dlscale::backend::cuda
