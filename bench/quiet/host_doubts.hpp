#pragma once
#include "backend/comm/communicator.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Adds to a row that has times what is doubtful about `threads` busy threads of every rank of this
/// node (backend::host_warnings). Call it while no thread is bound to a core of its own.
void add_host_doubts(Measurement& measurement, int threads,
                     const backend::Communicator& communicator);

/// The same, and of their operands, which one thread wrote first (backend::memory_node_warnings).
void add_compute_doubts(Measurement& measurement, int threads,
                        const backend::Communicator& communicator);

}  // namespace dlscale::bench
