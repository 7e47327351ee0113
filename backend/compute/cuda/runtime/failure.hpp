#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale::backend::cuda {

/// Facts about the machine that are known when a device is opened.
struct Situation {
  int place = 0;           ///< the rank's number on its node
  int devices = 0;         ///< GPUs that this process may use
  int driver_version = 0;  ///< CUDA version, 1000 · major + 10 · minor; 0: no driver
  int runtime_version = 0;
  std::string gpu{};                 ///< its name, once known
  std::string compute_capability{};  ///< "9.0", once known
};

/// Throws an error that says why a device cannot be opened and what to do:
///   Unsupported   the machine or this build cannot (no driver or an old one, no GPU, no kernels
///                 for this GPU)
///   ConfigError   the launch or another program prevents it (more ranks than GPUs, a GPU in
///                 exclusive use, no memory)
///   LibraryError  otherwise
[[noreturn]] void refuse_device(cudaError_t code, const Situation& situation);

/// Throws ConfigError if no device exists for the rank's place.
void expect_device_for(const Situation& situation);

/// Error message for a failed allocation of `wanted` bytes with `free` of `total` left.
std::string out_of_memory(const std::string& gpu, std::size_t wanted, std::size_t free,
                          std::size_t total);

/// Error message for a call that could not pin `wanted` bytes of host memory, which is not a GPU's
/// fault.
std::string out_of_pinned_memory(std::string_view call, std::size_t wanted);

}  // namespace dlscale::backend::cuda
