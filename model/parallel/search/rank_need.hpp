#pragma once
#include <span>
#include <vector>

#include "model/memory/library_memory.hpp"
#include "model/memory/rank_memory.hpp"

namespace dlscale::model::parallel_search {

/// The peak of the rank that needs most, equal to that of rank_memory(), from two parts that many
/// plans have in common. States are weights, gradients, the optimiser's numbers and gathered
/// weights. They depend on the framework, tensor, experts, stages and sharding alone. Everything
/// else depends on sharding only where recomputation does.

/// Layers of a stage.
struct StageRange {
  int stage = 0;
  double first = 0;
  double layers = 0;
};

/// Stages that may need most: the first and the last one, those with more layers than all before
/// them, and those with layers of a kind of their own. A later stage with as many layers keeps no
/// more micro-batches, and no table. Requires schedules of one copy.
std::vector<StageRange> needy_stages(const memory::TransformerShape& shape,
                                     const memory::MemorySetup& setup);

/// States of such stages, without all else.
std::vector<memory::StageMemory> states_of(const memory::TransformerShape& shape,
                                           const memory::MemorySetup& setup,
                                           const memory::Implementation& way,
                                           std::span<const StageRange> stages);

/// All but the states of such stages.
std::vector<memory::StageMemory> rest_of(const memory::TransformerShape& shape,
                                         const memory::MemorySetup& setup,
                                         const memory::Implementation& way,
                                         std::span<const StageRange> stages);

/// The peak of a counter from both, which are of the same stages.
memory::MemoryEstimate rank_need(std::span<const memory::StageMemory> states,
                                 std::span<const memory::StageMemory> rest,
                                 const memory::Implementation& way,
                                 const memory::LibraryMemory& libraries,
                                 memory::MemoryCounter counter = memory::MemoryCounter::device);

}  // namespace dlscale::model::parallel_search
