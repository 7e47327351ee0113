#pragma once
#include <functional>
#include <memory>

#include "bench/conv/finding.hpp"
#include "bench/conv/step_run.hpp"
#include "bench/conv/workbench.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// How many sets of operands a kernel needs that moves `each`: 1 but in rotation.
int operand_sets(const Workbench& workbench, CacheState cache, Bytes each);

/// Whether so many sets of operands, of which one takes `each`, with its workspace, fit beside each
/// other; of one, nothing is found. `each` may throw Unsupported. Collective.
Finding find_room(backend::Communicator& communicator, const Workbench& workbench, int sets,
                  const std::function<Bytes()>& each);

/// Samples of a kernel on so many sets of operands, each made by `make`, with what ran; of several,
/// in rotation, with the series "operand_sets". Collective.
Measurement sample_on_sets(Workbench& workbench, const Sampler& sampler, CacheState cache, int sets,
                           const std::function<std::unique_ptr<StepRun>()>& make);

}  // namespace dlscale::bench
