#pragma once
#include <functional>
#include <memory>

#include "bench/conv/finding.hpp"
#include "bench/conv/step_run.hpp"
#include "bench/conv/workbench.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Number of operand sets for a kernel that moves `each` bytes per run; 1 unless rotating.
int operand_sets(const Workbench& workbench, CacheState cache, Bytes each);

/// Whether `sets` sets of operands, each of `each` bytes with its workspace, fit in memory
/// together. A single set is not checked. `each` may throw Unsupported. Collective.
Finding find_room(backend::Communicator& communicator, const Workbench& workbench, int sets,
                  const std::function<Bytes()>& each);

/// Samples a kernel on `sets` sets of operands made by `make`, and records the implementation.
/// Several sets rotate and add the series "operand_sets". Collective.
Measurement sample_on_sets(Workbench& workbench, const Sampler& sampler, CacheState cache, int sets,
                           const std::function<std::unique_ptr<StepRun>()>& make);

}  // namespace dlscale::bench
