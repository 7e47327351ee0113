#include "backend/compute/cuda/runtime/call.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "backend/compute/cuda/runtime/failure.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

[[noreturn]] void fail(std::string_view call, std::string_view what, std::string_view code) {
  throw LibraryError(fmt::format("{}: {} failed: {}.", what, call, code));
}

[[noreturn]] void throw_unsupported(std::string_view call, std::string_view what,
                                    std::string_view code) {
  throw Unsupported(fmt::format("{}: {} does not offer this: {}.", what, call, code));
}

[[noreturn]] void lack_memory(std::string_view call, std::string_view what, std::string_view code) {
  throw ConfigError(fmt::format(
      "{}: {} found too little memory ({}). Choose a smaller batch or network, or stop the "
      "programs that nvidia-smi lists on this GPU.",
      what, call, code));
}

bool is_refusal(cudaError_t code) {
  return code == cudaErrorNotSupported || code == cudaErrorNoKernelImageForDevice ||
         code == cudaErrorUnsupportedPtxVersion;
}

std::string cudnn_text(cudnnStatus_t code) {
  const std::string message = last_cudnn_message();
  return message.empty() ? cudnnGetErrorString(code)
                         : fmt::format("{}, {}", cudnnGetErrorString(code), message);
}

std::string_view blas_text(cublasStatus_t code) {
  switch (code) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    case CUBLAS_STATUS_LICENSE_ERROR:
      return "CUBLAS_STATUS_LICENSE_ERROR";
  }
  return "an unknown code of cuBLAS";
}

}  // namespace

std::string last_cudnn_message() {
  std::array<char, 512> message{};
  cudnnGetLastErrorString(message.data(), message.size());
  std::string text(message.data());
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  return text;
}

void check(cudaError_t code, std::string_view call, std::string_view what) {
  if (code == cudaSuccess) return;
  // Clears an error that does not persist, or the next query for the last error would find it.
  static_cast<void>(cudaGetLastError());
  const std::string text = fmt::format("{}, {}", cudaGetErrorName(code), cudaGetErrorString(code));
  if (code == cudaErrorMemoryAllocation) lack_memory(call, what, text);
  if (is_refusal(code)) throw_unsupported(call, what, text);
  fail(call, what, text);
}

void check_pinned(cudaError_t code, std::string_view call, std::size_t bytes) {
  if (code == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw ConfigError(out_of_pinned_memory(call, bytes));
  }
  check(code, call, [bytes] { return fmt::format("{} bytes of the host's memory", bytes); });
}

void check(cudnnStatus_t code, std::string_view call, std::string_view what) {
  if (code == CUDNN_STATUS_SUCCESS) return;
  const std::string text = cudnn_text(code);
  if (code == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) lack_memory(call, what, text);
  if (CUDNN_STATUS_CATEGORY(code) == CUDNN_STATUS_NOT_SUPPORTED)
    throw_unsupported(call, what, text);
  fail(call, what, text);
}

void check(cublasStatus_t code, std::string_view call, std::string_view what) {
  if (code == CUBLAS_STATUS_SUCCESS) return;
  if (code == CUBLAS_STATUS_ALLOC_FAILED) lack_memory(call, what, blas_text(code));
  if (code == CUBLAS_STATUS_NOT_SUPPORTED || code == CUBLAS_STATUS_ARCH_MISMATCH) {
    throw_unsupported(call, what, blas_text(code));
  }
  fail(call, what, blas_text(code));
}

std::string describe(const TensorDesc& desc) {
  return fmt::format("{} {} {}", fmt::join(desc.dims, " x "), dtype_name(desc.dtype),
                     desc.layout.name);
}

std::string describe_elements(std::size_t count) {
  return fmt::format("{} elements", count);
}

std::string describe_bytes(std::size_t bytes) {
  return fmt::format("{} bytes", bytes);
}

std::string describe_seconds(Seconds seconds) {
  return fmt::format("{} s", seconds.si());
}

}  // namespace dlscale::backend::cuda
