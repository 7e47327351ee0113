#include "model/parallel/search/rank_need.hpp"

#include "model/memory/state_memory.hpp"

namespace dlscale::model::parallel_search {
namespace {

using memory::MemoryCounter;

/// Whether layers differ in kind, so that a stage may need more than an earlier one of its size.
bool has_two_kinds(const memory::TransformerShape& shape) {
  return shape.experts && shape.experts->dense_layers > 0;
}

double layers_on(const memory::MemorySetup& setup, double layers, int stage) {
  if (setup.stage_layers.empty()) return layers / setup.stages;
  return setup.stage_layers[static_cast<std::size_t>(stage)];
}

}  // namespace

memory::MemoryEstimate rank_need(const memory::TransformerShape& shape,
                                 const memory::MemorySetup& setup,
                                 const memory::Implementation& way) {
  const auto layers = static_cast<double>(shape.layers);
  const memory::LibraryMemory libraries = memory::library_memory(setup.axes());
  const bool needs_all = has_two_kinds(shape);
  memory::StageMemory worst;
  double most = -1;
  double first = 0;
  double most_layers = 0;
  for (int stage = 0; stage < setup.stages; ++stage) {
    const double own = layers_on(setup, layers, stage);
    if (needs_all || own > most_layers || stage == setup.stages - 1) {
      const memory::StageMemory memory = memory::stage_memory(shape, setup, way, stage, first, own);
      const double peak = memory.peak_bytes(MemoryCounter::device);
      if (peak > most) {
        most = peak;
        worst = memory;
      }
      most_layers = own > most_layers ? own : most_layers;
    } else if (setup.stage_layers.empty()) {
      first += own * (setup.stages - 2);
      stage = setup.stages - 2;
      continue;
    }
    first += own;
  }
  return memory::peak_of(worst, way, libraries, MemoryCounter::device);
}

double least_need(const memory::TransformerShape& shape, const memory::MemorySetup& setup) {
  const double layers = layers_on(setup, static_cast<double>(shape.layers), 0);
  const memory::StageParameters parameters = memory::stage_parameters(shape, setup, 0, 0, layers);
  return memory::stage_states(parameters, setup).total() +
         memory::library_memory(setup.axes()).bytes;
}

}  // namespace dlscale::model::parallel_search
