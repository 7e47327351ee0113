#include "model/memory/state_memory.hpp"

#include <algorithm>

namespace dlscale::model::memory {
StateMemory& StateMemory::operator+=(const StateMemory& other) {
  weights += other.weights;
  gradients += other.gradients;
  main_weights += other.main_weights;
  moments += other.moments;
  return *this;
}

StateMemory& StateMemory::operator*=(double factor) {
  weights *= factor;
  gradients *= factor;
  main_weights *= factor;
  moments *= factor;
  return *this;
}

StateMemory state_memory(double parameters, double shards, int zero, const StateBytes& bytes) {
  const auto part = [&](int stage) { return parameters / (zero >= stage ? shards : 1); };
  return {.weights = bytes.weights * part(3),
          .gradients = bytes.all_gradients() * part(2),
          .main_weights = bytes.main_weights * part(1),
          .moments = bytes.moments * part(1)};
}

RankParameters layer_parameters(const TransformerShape& shape, double tensor, double experts,
                                double first, double layers) {
  const double expert_parts = experts > 1 ? experts : tensor;
  RankParameters sum;
  for (const EqualLayers& of : equal_layers(shape, first, layers)) {
    if (of.count <= 0) continue;
    sum.dense +=
        of.count * (attention_parameters(shape) + dense_parameters(shape, of.layer)) / tensor;
    sum.experts += of.count * expert_parameters(shape, of.layer) / expert_parts;
  }
  return sum;
}

double ranks_of_expert(double ranks, double tensor, double experts) {
  return experts > 1 ? std::max(1.0, ranks * tensor / experts) : ranks;
}

StageParameters stage_parameters(const TransformerShape& shape, const MemorySetup& setup, int stage,
                                 double first, double layers) {
  const double tensor = setup.tensor;
  const RankParameters of_layers = layer_parameters(shape, tensor, setup.experts, first, layers);
  StageParameters sum;
  sum.dense = of_layers.dense;
  sum.experts = of_layers.experts;
  const bool is_last = stage == setup.stages - 1;
  const bool decodes = is_last && (setup.stages > 1 || !shape.tied_embeddings);
  const int tables = (stage == 0 ? 1 : 0) + (decodes ? 1 : 0);
  sum.tables = tables * table_parameters(shape) / tensor;
  sum.dense += sum.tables;
  if (stage == 0) sum.dense += static_cast<double>(shape.positions * shape.hidden);
  return sum;
}

double expert_shards(const MemorySetup& setup) {
  return ranks_of_expert(setup.shards(), setup.tensor, setup.experts);
}

double weight_copies(const StageParameters& parameters, const MemorySetup& setup) {
  if (setup.zero >= 3) return 0;
  return state_copies(setup) * setup.operand_weights *
         (parameters.dense - parameters.tables + parameters.experts);
}

StateMemory stage_states(const StageParameters& parameters, const MemorySetup& setup) {
  StateMemory sum = state_memory(parameters.dense, setup.shards(), setup.zero, setup.bytes);
  sum += state_memory(parameters.experts, expert_shards(setup), setup.zero, setup.bytes);
  sum *= state_copies(setup);
  sum.weights += weight_copies(parameters, setup);
  return sum;
}

}  // namespace dlscale::model::memory
