#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/error.hpp"

namespace dlscale::backend {

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
