#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale::backend::cuda {

/// What is known of the machine when a device is opened.
struct Situation {
  int place = 0;           ///< of the rank on its node
  int devices = 0;         ///< GPUs that this process may use
  int driver_version = 0;  ///< of CUDA, 1000 · major + 10 · minor; 0: there is no driver
  int runtime_version = 0;
  std::string gpu{};                 ///< its name, once known
  std::string compute_capability{};  ///< "9.0", once known
};

/// Throws what says why a device cannot be opened and what to do: Unsupported if the machine or
/// this build cannot have it (no driver, an old one, no GPU, no kernels for this GPU), ConfigError
/// if the launch or another program is in the way (more ranks than GPUs, a GPU in exclusive use, no
/// memory), LibraryError for the rest.
[[noreturn]] void refuse_device(cudaError_t code, const Situation& situation);

/// Throws ConfigError if there is no device for the rank's place.
void expect_device_for(const Situation& situation);

/// What to say where allocating `wanted` bytes failed with `free` of `total` left.
std::string out_of_memory(const std::string& gpu, std::size_t wanted, std::size_t free,
                          std::size_t total);

/// What to say where a call could not pin `wanted` bytes of the host's memory, for which no GPU is
/// to blame.
std::string out_of_pinned_memory(std::string_view call, std::size_t wanted);

}  // namespace dlscale::backend::cuda
