#pragma once
#include "core/base/units.hpp"

namespace dlscale {

/// Physical memory of this node, as the system reports it.
Bytes physical_memory();

}  // namespace dlscale
