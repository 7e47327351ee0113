#include "model/parallel/search/rank_need.hpp"

#include <algorithm>
#include <array>

#include "core/base/error.hpp"

namespace dlscale::model::parallel_search {
namespace {

using memory::MemoryCounter;
using memory::MemoryKind;
using memory::StageMemory;

constexpr std::array state_kinds{MemoryKind::weights, MemoryKind::gradients,
                                 MemoryKind::main_weights, MemoryKind::moments,
                                 MemoryKind::gathered};

bool is_state(std::size_t kind) {
  return std::ranges::find(state_kinds, static_cast<MemoryKind>(kind)) != state_kinds.end();
}

/// Memory of the stages, of which only states, or only all else, are kept.
std::vector<StageMemory> parts_of(const memory::TransformerShape& shape,
                                  const memory::MemorySetup& setup,
                                  const memory::Implementation& way,
                                  std::span<const StageRange> stages, bool are_states) {
  std::vector<StageMemory> memories;
  for (const StageRange& of : stages) {
    StageMemory memory = memory::stage_memory(shape, setup, way, of.stage, of.first, of.layers);
    for (memory::MemoryParts& parts : memory.at) {
      for (std::size_t kind = 0; kind < memory::memory_kinds; ++kind) {
        if (is_state(kind) != are_states) parts.bytes[kind] = 0;
      }
    }
    memories.push_back(memory);
  }
  return memories;
}

StageMemory sum_of(const StageMemory& states, const StageMemory& rest) {
  StageMemory sum = rest;
  for (std::size_t moment = 0; moment < memory::memory_moments; ++moment) {
    for (const MemoryKind kind : state_kinds) sum.at[moment][kind] = states.at[moment][kind];
  }
  return sum;
}

}  // namespace

std::vector<StageRange> needy_stages(const memory::TransformerShape& shape,
                                     const memory::MemorySetup& setup) {
  const double plain = shape.experts ? static_cast<double>(shape.experts->dense_layers) : 0;
  const std::vector<double> layers =
      memory::layers_of_stages(setup, static_cast<double>(shape.layers));
  std::vector<StageRange> found;
  double first = 0;
  double most = -1;  // layers of an earlier stage whose layers are all of the last kind
  for (int stage = 0; stage < setup.stages; ++stage) {
    const double own = layers[static_cast<std::size_t>(stage)];
    if (stage == 0 || first < plain || own > most || stage == setup.stages - 1) {
      found.push_back({stage, first, own});
    }
    if (first >= plain) most = std::max(most, own);
    first += own;
  }
  return found;
}

std::vector<StageMemory> states_of(const memory::TransformerShape& shape,
                                   const memory::MemorySetup& setup,
                                   const memory::Implementation& way,
                                   std::span<const StageRange> stages) {
  return parts_of(shape, setup, way, stages, true);
}

std::vector<StageMemory> rest_of(const memory::TransformerShape& shape,
                                 const memory::MemorySetup& setup,
                                 const memory::Implementation& way,
                                 std::span<const StageRange> stages) {
  return parts_of(shape, setup, way, stages, false);
}

memory::MemoryEstimate rank_need(std::span<const StageMemory> states,
                                 std::span<const StageMemory> rest,
                                 const memory::Implementation& way,
                                 const memory::LibraryMemory& libraries, MemoryCounter counter) {
  EXPECT(!states.empty() && states.size() == rest.size());
  StageMemory worst;
  double most = -1;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const StageMemory memory = sum_of(states[i], rest[i]);
    const double peak = memory.peak_bytes(counter);
    if (peak <= most) continue;
    most = peak;
    worst = memory;
  }
  return memory::peak_of(worst, way, libraries, counter);
}

}  // namespace dlscale::model::parallel_search
