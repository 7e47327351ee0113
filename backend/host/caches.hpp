#pragma once
#include <filesystem>
#include <vector>

#include "backend/host/data_caches.hpp"

namespace dlscale::backend {

/// The caches of data of the first processor, nearest first, as Linux tells them below `cpus`; what
/// it does not tell is left out.
std::vector<DataCache> data_caches_below(const std::filesystem::path& cpus);

}  // namespace dlscale::backend
