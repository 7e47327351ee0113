#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/base/error.hpp"
#include "core/network/gemm.hpp"

namespace dlscale::backend {

inline std::unique_ptr<ComputeDevice> open_reference() {
  return family<ComputeBackend>().find("reference")->open({});
}

/// An opened device, or why this machine has none.
struct OpenedDevice {
  std::unique_ptr<ComputeDevice> device;
  std::string reason;
};

inline OpenedDevice try_open(const ComputeBackend& backend) {
  try {
    return {backend.open({}), ""};
  } catch (const Unsupported& refusal) {
    return {nullptr, refusal.what()};
  }
}

/// Why the processor has no kernels in `dtype`; empty if it has. oneDNN's in bf16 need AVX-512;
/// that a processor with AVX-512 is refused is not for a test to pass over.
inline std::string why_without(ComputeDevice& device, DType dtype) {
  if (dtype != DType::bf16) return "";
  try {
    static_cast<void>(device.matrix_product(parse_gemm_shape("4x4x4:nn", "a test"), dtype));
    return "";
  } catch (const Unsupported& refusal) {
    const std::string why = refusal.what();
    return why.find("avx512") == std::string::npos ? why : "";
  }
}

/// Precisions that a backend offers; device_test checks that it refuses others.
inline std::vector<DType> dtypes_of(const ComputeBackend& backend) {
  if (backend.name == "reference" || backend.name == "native") return {DType::f32};
  if (backend.name == "onednn") return {DType::f32, DType::bf16};
  return {all_dtypes.begin(), all_dtypes.end()};
}

/// Opens the device of each backend once: what a device chooses by trial it need not choose again.
class OpenedDevices {
 public:
  const OpenedDevice& of(const ComputeBackend& backend) {
    const auto known = opened_.find(&backend);
    if (known != opened_.end()) return known->second;
    return opened_.emplace(&backend, try_open(backend)).first->second;
  }

 private:
  std::map<const ComputeBackend*, OpenedDevice> opened_;
};

/// The backends of which this machine has a device.
inline std::vector<const ComputeBackend*> backends_with_devices() {
  std::vector<const ComputeBackend*> found;
  for (const ComputeBackend* backend : family<ComputeBackend>().members) {
    if (try_open(*backend).device != nullptr) found.push_back(backend);
  }
  return found;
}

}  // namespace dlscale::backend
