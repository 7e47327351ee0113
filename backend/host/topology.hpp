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

/// A hardware thread.
struct HardwareThread {
  int number = 0;  ///< number in the operating system
  int core = 0;    ///< index of its core in the machine
  int place = 0;   ///< 0 for the first thread of its core
};

/// Hardware of the machine, including parts that this process may not use.
struct Topology {
  std::string processor;
  std::string source;  ///< "hwloc 2.9.0", "/proc and /sys"
  std::vector<HardwareThread> threads;
  /// Caches of core 0, nearest first; empty if only Linux reports them.
  std::vector<DataCache> caches;
};

/// Throws LibraryError if the machine cannot be read.
Topology read_topology();

}  // namespace dlscale::backend
