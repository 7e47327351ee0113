#pragma once
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale::backend::cuda {

/// Checks of the return codes. `call` is the function's name, `what` what it was called for: a
/// layer with its shapes, a copy with its bytes. They throw LibraryError naming call, code and
/// `what`; Unsupported where the code says that a library does not offer something; ConfigError for
/// out of memory.
void check(cudaError_t code, std::string_view call, std::string_view what);
void check(cudnnStatus_t code, std::string_view call, std::string_view what);
void check(cublasStatus_t code, std::string_view call, std::string_view what);

/// The same where saying what costs time that a good call should not take: `what` is called for it.
template <class Code, std::invocable Describe>
void check(Code code, std::string_view call, const Describe& what) {
  if (code != Code{}) check(code, call, std::string_view(std::string(what())));
}

/// The same of a call that pins `bytes` of the host's memory.
void check_pinned(cudaError_t code, std::string_view call, std::size_t bytes);

/// What the last call of cuDNN on this thread complained of.
std::string last_cudnn_message();

}  // namespace dlscale::backend::cuda
