#pragma once
#include <string>
#include <vector>

#include "backend/host/data_caches.hpp"
#include "core/base/units.hpp"

namespace dlscale::backend {

/// A hardware thread.
struct HardwareThread {
  int number = 0;  ///< as the operating system counts
  int core = 0;    ///< place of its core in the machine
  int place = 0;   ///< 0 for the first thread of its core
};

/// What is built into the machine, whatever this process may use of it.
struct Topology {
  std::string processor;
  std::string source;  ///< "hwloc 2.9.0", "/proc and /sys"
  std::vector<HardwareThread> threads;
  std::vector<DataCache> caches;  ///< of core 0, nearest first; none where only Linux tells them
};

/// Throws LibraryError if the machine cannot be read.
Topology read_topology();

}  // namespace dlscale::backend
