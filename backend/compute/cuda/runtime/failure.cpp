#include "backend/compute/cuda/runtime/failure.hpp"

#include <fmt/format.h>

#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

[[noreturn]] void refuse_driver(const Situation& situation) {
  if (situation.driver_version == 0) {
    throw Unsupported(
        "The cuda backend needs an NVIDIA driver, and this machine has none. Install the driver, "
        "or choose another backend.");
  }
  throw Unsupported(fmt::format(
      "The NVIDIA driver knows CUDA up to {}, but this program was built with CUDA {}. Update the "
      "driver, or build with the older toolkit.",
      version_text(situation.driver_version), version_text(situation.runtime_version)));
}

/// "9.0" → "90", as CMake writes it.
std::string architecture(std::string compute_capability) {
  std::erase(compute_capability, '.');
  return compute_capability;
}

[[noreturn]] void refuse_architecture(const Situation& situation) {
  throw Unsupported(fmt::format(
      "This build has no kernels for {} (compute capability {}). Build with -D "
      "CMAKE_CUDA_ARCHITECTURES={}.",
      situation.gpu, situation.compute_capability, architecture(situation.compute_capability)));
}

std::string in_gigabytes(std::size_t bytes) {
  return fmt::format("{:.2f} GB", static_cast<double>(bytes) * 1e-9);
}

}  // namespace

void refuse_device(cudaError_t code, const Situation& situation) {
  switch (code) {
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorCompatNotSupportedOnDevice:
      refuse_driver(situation);
    case cudaErrorNoDevice:
      throw Unsupported(
          "The cuda backend needs an NVIDIA GPU, and this process sees none. Check nvidia-smi and "
          "CUDA_VISIBLE_DEVICES, or choose another backend.");
    case cudaErrorDeviceAlreadyInUse:
    case cudaErrorDevicesUnavailable:
      throw ConfigError(fmt::format(
          "GPU {} is busy: another process has it for itself, or its compute mode prohibits "
          "programs. Wait for that process, or set the mode with nvidia-smi -c DEFAULT.",
          situation.place));
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorUnsupportedPtxVersion:
      refuse_architecture(situation);
    case cudaErrorMemoryAllocation:
      throw ConfigError(
          fmt::format("GPU {} has not even memory for a context. Stop the programs that "
                      "nvidia-smi lists on it.",
                      situation.place));
    default:
      throw LibraryError(fmt::format("GPU {} could not be opened: {} ({}).", situation.place,
                                     cudaGetErrorString(code), cudaGetErrorName(code)));
  }
}

void expect_device_for(const Situation& situation) {
  if (situation.devices == 0) refuse_device(cudaErrorNoDevice, situation);
  EXPECT(situation.place >= 0);
  if (situation.place < situation.devices) return;
  throw ConfigError(fmt::format(
      "Rank {} of this node has no GPU, as the node has {}: each rank needs one of its "
      "own. Launch at most {} rank{} per node.",
      situation.place, situation.devices, situation.devices, situation.devices == 1 ? "" : "s"));
}

std::string out_of_memory(const std::string& gpu, std::size_t wanted, std::size_t free,
                          std::size_t total) {
  return fmt::format(
      "{} has no {} of memory left: {} of {} are free. Choose a smaller batch or network, or stop "
      "the programs that nvidia-smi lists on it.",
      gpu, in_gigabytes(wanted), in_gigabytes(free), in_gigabytes(total));
}

std::string out_of_pinned_memory(std::string_view call, std::size_t wanted) {
  return fmt::format(
      "{} could not pin {} bytes of the host's memory (pinned memory stays in physical memory, of "
      "which the host, or a limit of this process or its container, leaves too little). Choose a "
      "smaller batch or fewer ranks on this host, or give the process more memory.",
      call, wanted);
}

}  // namespace dlscale::backend::cuda
