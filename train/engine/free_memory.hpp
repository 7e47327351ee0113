#pragma once
#include <filesystem>
#include <optional>

#include "core/base/units.hpp"

namespace dlscale::train {

/// Memory this process and others may still take before the machine swaps or a control group ends
/// one of them: the smaller of MemAvailable in /proc/meminfo and of what a control group (version
/// 2) leaves. Nothing where the system does not say. `root` is the root of the file system.
std::optional<Bytes> free_memory(const std::filesystem::path& root = "/");

}  // namespace dlscale::train
