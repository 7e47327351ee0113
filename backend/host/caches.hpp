#pragma once
#include <filesystem>
#include <vector>

#include "backend/host/data_caches.hpp"

namespace dlscale::backend {

/// The data caches of the first processor, nearest first, as Linux reports them below `cpus`.
/// Unreported caches are left out.
std::vector<DataCache> data_caches_below(const std::filesystem::path& cpus);

}  // namespace dlscale::backend
