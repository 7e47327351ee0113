#pragma once
#include <filesystem>

#include "core/units.hpp"

namespace dlscale::backend {

/// Size of the highest cache of the first processor, as Linux tells it below `cpus`; zero if it
/// does not.
Bytes last_level_cache_below(const std::filesystem::path& cpus);

}  // namespace dlscale::backend
