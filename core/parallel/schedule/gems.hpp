#pragma once
#include <string>

#include "core/parallel/schedule/schedule.hpp"

namespace dlscale::parallel {

/// GEMS: the ranks hold two copies of the network, the second in opposite order. Micro-batches take
/// the copies in turn. A rank runs each forward and backward before the next, so that the forward
/// pass of one follows the backward pass of the one before it through the ranks. [GEMS, SC 2020;
/// MPI4DL, src/torchgems/gems_master.py]
Schedule gems_schedule(const PipelineShape& shape);

/// Why GEMS does not support a shape with at least two micro-batches.
std::string gems_obstacle(const PipelineShape& shape);

}  // namespace dlscale::parallel
