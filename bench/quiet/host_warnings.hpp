#pragma once
#include "backend/comm/communicator.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Adds warnings about `threads` busy threads on every rank of this node to a row with times
/// (backend::host_warnings). Call it while threads are not bound to cores.
void add_host_warnings(Measurement& measurement, int threads,
                       const backend::Communicator& communicator);

/// Adds the same, and warnings about operands whose pages one thread touched first
/// (backend::memory_node_warnings).
void add_compute_warnings(Measurement& measurement, int threads,
                          const backend::Communicator& communicator);

}  // namespace dlscale::bench
