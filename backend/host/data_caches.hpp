#pragma once
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::backend {

/// A cache that holds data, as the system describes it.
struct DataCache {
  int level = 0;  ///< 1 is nearest to the core
  Bytes size;
  Bytes line;  ///< zero if it does not tell
};

/// The caches of data on the way from core 0 to memory, nearest first, and who says so; none if the
/// system does not tell.
struct DataCaches {
  std::vector<DataCache> levels;
  std::string source;  ///< "hwloc API 2.9.0", "/proc and /sys"
};
DataCaches data_caches();

}  // namespace dlscale::backend
