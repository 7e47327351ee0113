#include "core/system/physical_memory.hpp"

#include <unistd.h>

namespace dlscale {

Bytes physical_memory() {
  return Bytes(static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
               static_cast<double>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace dlscale
