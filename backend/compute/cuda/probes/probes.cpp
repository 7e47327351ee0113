#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/open.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend {
namespace cuda {
namespace {

class CudaProbes final : public DeviceProbes {
 public:
  /// `opened` stays open as long as the probes, so that the facts found when opening it stay true.
  CudaProbes(std::unique_ptr<ComputeDevice> opened, int place)
      : opened_(std::move(opened)), context_{.device = place} {
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, place), "cudaGetDeviceProperties",
          [place] { return fmt::format("GPU {}", place); });
    context_.multiprocessors = properties.multiProcessorCount;
    const auto memory = opened_->own_memory();
    EXPECT(memory.has_value());
    device_ = {.name = properties.name,
               .bus_id = opened_->bus_id(),
               .memory = memory->free,
               .last_level_cache = memory->last_level_cache,
               .multiprocessors = properties.multiProcessorCount};
  }

  [[nodiscard]] const ProbedDevice& device() const override { return device_; }

  [[nodiscard]] std::unique_ptr<Probe> arrays(const ArraySpec& spec) override {
    select_device(context_.device);
    return make_array_probe(context_, spec);
  }
  [[nodiscard]] std::unique_ptr<Probe> chase(const ChaseSpec& spec) override {
    select_device(context_.device);
    return make_chase_probe(context_, spec);
  }
  [[nodiscard]] std::unique_ptr<Probe> banks(const BankSpec& spec) override {
    select_device(context_.device);
    return make_bank_probe(context_, spec);
  }
  [[nodiscard]] std::unique_ptr<Probe> launches(const LaunchSpec& spec) override {
    select_device(context_.device);
    return make_launch_probe(context_, spec);
  }
  [[nodiscard]] std::unique_ptr<Probe> copies(const CopySpec& spec) override {
    select_device(context_.device);
    return make_copy_probe(context_, spec);
  }

 private:
  std::unique_ptr<ComputeDevice> opened_;
  ProbeContext context_;
  ProbedDevice device_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<DeviceProbes> open_cuda_probes(const ComputeOptions& options) {
  return std::make_unique<cuda::CudaProbes>(open_cuda(options), options.place);
}

}  // namespace dlscale::backend
