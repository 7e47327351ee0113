#pragma once
#include <string>

#include "core/system/facts.hpp"

namespace dlscale::backend {

/// Constant facts that NVML reports about every GPU of this machine and about the driver: "gpu_0" →
/// its name, UUID, VBIOS, power limit, application clocks, ECC and MIG. A fact that a GPU does not
/// report is "unavailable" with the reason; without NVML or a driver "gpu" is. `library` is the
/// name for the dynamic linker.
Facts gpu_facts(const std::string& library = "libnvidia-ml.so.1");

}  // namespace dlscale::backend
