#pragma once
#include <filesystem>
#include <optional>

#include "core/base/units.hpp"

namespace dlscale::train {

/// Memory that processes can still allocate before the machine swaps or a control group kills one
/// of them: the smaller of MemAvailable in /proc/meminfo and the rest of a control group (version
/// 2). Empty where the system does not report it. `root` is the root of the file system.
std::optional<Bytes> free_memory(const std::filesystem::path& root = "/");

}  // namespace dlscale::train
