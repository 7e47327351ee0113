#pragma once
#include "core/base/units.hpp"

namespace dlscale {

/// The memory of this node, as the system tells it.
Bytes physical_memory();

}  // namespace dlscale
