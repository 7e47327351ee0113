#pragma once
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::backend {

/// A cache that holds data, as the system describes it.
struct DataCache {
  int level = 0;  ///< 1 is nearest to the core
  Bytes size;
  Bytes line;  ///< cache line; zero if the system does not report it
};

/// The data caches between core 0 and memory, nearest first, and their source; none if the system
/// does not report them.
struct DataCaches {
  std::vector<DataCache> levels;
  std::string source;  ///< "hwloc API 2.9.0", "/proc and /sys"
};
DataCaches data_caches();

}  // namespace dlscale::backend
