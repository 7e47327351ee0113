#pragma once
#include <string>

#include "core/system/facts.hpp"

namespace dlscale::backend {

/// What NVML says of every GPU of this machine that does not change while a program runs: "gpu_0" →
/// its name, UUID, VBIOS, limit of power, clocks set for applications, ECC and MIG; and of the
/// driver. What a GPU does not tell is "unavailable" with the reason; without NVML or a driver
/// "gpu" is. `library` is what the dynamic linker is asked for.
Facts gpu_facts(const std::string& library = "libnvidia-ml.so.1");

}  // namespace dlscale::backend
