#include "model/memory/stage_memory.hpp"

#include <algorithm>
#include <cstdint>

#include "model/memory/kept_activations.hpp"
#include "model/memory/library_memory.hpp"
#include "model/memory/state_memory.hpp"

namespace dlscale::model::memory {
namespace {

constexpr std::array<std::string_view, memory_kinds> kind_names = {
    "weights", "gradients", "main weights", "moments",       "activations", "backward",
    "loss",    "gathered",  "buffers",      "fragmentation", "libraries"};
constexpr std::array<std::string_view, memory_moments> moment_names = {"loss", "backward",
                                                                       "update"};

/// Share of a stage's layers that recomputation by block keeps the inputs of.
double recomputed_share(const MemorySetup& setup, double layers) {
  if (setup.recompute != Recompute::block || layers <= 0) return 0;
  return std::min(1.0, setup.recompute_layers * setup.chunks / layers);
}

/// Bytes that a layer keeps on average, where a share of them is recomputed in full.
double kept_on_average(const TransformerShape& shape, const MemorySetup& setup,
                       const Implementation& way, std::int64_t layer, double recomputed) {
  const double kept = kept_activations(shape, setup, way, layer);
  if (recomputed <= 0) return kept;
  MemorySetup full = setup;
  full.recompute = Recompute::full;
  return (1 - recomputed) * kept + recomputed * kept_activations(shape, full, way, layer);
}

/// Layers of a stage, averaged where they differ, and the most that one of them needs.
struct StageActivations {
  double kept = 0;   ///< bytes a layer, on average
  double whole = 0;  ///< bytes of the layer that needs most, if nothing is recomputed
};

StageActivations activations_of(const TransformerShape& shape, const MemorySetup& setup,
                                const Implementation& way, double first, double layers) {
  const double recomputed = recomputed_share(setup, layers);
  StageActivations sum;
  for (const EqualLayers& of : equal_layers(shape, first, layers)) {
    if (of.count <= 0) continue;
    sum.kept += of.count / layers * kept_on_average(shape, setup, way, of.layer, recomputed);
    sum.whole = std::max(sum.whole, whole_activations(shape, setup, way, of.layer));
  }
  return sum;
}

double inner_width(const TransformerShape& shape, std::int64_t layer) {
  if (!has_experts(shape, layer)) return static_cast<double>(shape.ffn);
  return static_cast<double>(shape.experts->ffn * shape.experts->active);
}

/// Computes one stage; the parts of all moments begin with those of the states.
class Stage {
 public:
  Stage(const TransformerShape& shape, const MemorySetup& setup, const Implementation& way,
        int stage, double first, double layers)
      : shape_(&shape), setup_(&setup), way_(&way), first_(first), layers_(layers) {
    memory_.stage = stage;
    memory_.layers = layers;
    memory_.live_layers = live_layers(setup, stage, layers);
    parameters_ = stage_parameters(shape, setup, stage, first, layers);
    memory_.weight_copies = weight_copies(parameters_, setup);
    is_last_ = stage == setup.stages - 1;
  }

  StageMemory compute() {
    MemoryParts base = states();
    base[MemoryKind::buffers] = buffers();
    MemoryParts backward = base;
    const StageActivations activations = activations_of(*shape_, *setup_, *way_, first_, layers_);
    backward[MemoryKind::activations] =
        (1 - setup_->offloaded) * activations.kept * memory_.live_layers;
    backward[MemoryKind::gathered] = gathered();
    MemoryParts loss = backward;
    backward[MemoryKind::backward] = layers_ > 0 ? backward_of_layer(activations) : 0;
    if (is_last_) loss[MemoryKind::loss] = loss_bytes();
    for (MemoryParts* parts : {&backward, &loss}) add_fragmentation(*parts);
    memory_.at = {loss, backward, at_update(base)};
    return memory_;
  }

 private:
  MemoryParts states() const {
    const StateMemory states = stage_states(parameters_, *setup_);
    MemoryParts parts;
    parts[MemoryKind::weights] = states.weights;
    parts[MemoryKind::gradients] = states.gradients;
    parts[MemoryKind::main_weights] = states.main_weights;
    parts[MemoryKind::moments] = states.moments;
    parts[MemoryKind::libraries] = library_memory(setup_->axes()).bytes;
    return parts;
  }

  bool gathers_tokens() const { return setup_->sequence_parallel && setup_->tensor > 1; }

  double tokens() const { return tokens_of_rank(*shape_, *setup_); }

  double buffers() const {
    const double gathering = gathers_tokens() ? way_->gather_buffer_bytes * tokens() *
                                                    static_cast<double>(shape_->hidden)
                                              : 0;
    return gathering + way_->constant_bytes;
  }

  /// A recomputed layer, or gradients of an inner part and of its product with them.
  double backward_of_layer(const StageActivations& activations) const {
    const auto layer = static_cast<std::int64_t>(first_ + layers_ - 1e-9);
    const double inner = inner_width(*shape_, layer) / setup_->tensor;
    const double products =
        has_experts(*shape_, layer) ? inner / static_cast<double>(shape_->experts->active) : inner;
    const double gradients =
        way_->inner_gradient_bytes * tokens() * inner +
        way_->whole_gradient_bytes * 2 * products * static_cast<double>(shape_->hidden);
    const bool recomputes = setup_->recompute == Recompute::full ||
                            setup_->recompute == Recompute::operators ||
                            recomputed_share(*setup_, layers_) > 0;
    return (recomputes ? activations.whole : 0) + gradients;
  }

  double loss_bytes() const {
    const double table = table_parameters(*shape_) / setup_->tensor;
    return way_->loss_bytes * tokens() * static_cast<double>(shape_->vocabulary) / setup_->tensor +
           way_->whole_gradient_bytes * table +
           way_->head_state_bytes * tokens() * static_cast<double>(shape_->hidden) /
               setup_->token_parts();
  }

  double gathered() const {
    if (setup_->zero < 3) return 0;
    const double weights = setup_->element;
    if (way_->keeps_gathered_stage && setup_->stages > 1) {
      return (parameters_.dense + parameters_.experts) * (weights + setup_->bytes.all_gradients());
    }
    const double layers = parameters_.dense - parameters_.tables + parameters_.experts;
    const double two_layers = 2 * layers / std::max(1.0, layers_);
    return 2 * weights * (two_layers + (way_->keeps_gathered_tables ? parameters_.tables : 0));
  }

  void add_fragmentation(MemoryParts& parts) const {
    const Fragmentation& lost = way_->fragmentation;
    const double factor = gathers_tokens() ? lost.shared : lost.alone;
    const bool runs_ahead = gathers_tokens() && setup_->stages == 1 && setup_->micro_batches > 1;
    parts[MemoryKind::fragmentation] =
        (factor - 1) * parts.uncertain(MemoryCounter::allocated) +
        (runs_ahead ? lost.run_ahead * tokens() * static_cast<double>(shape_->hidden) : 0);
  }

  MemoryParts at_update(MemoryParts parts) const {
    const double all = parameters_.dense + parameters_.experts;
    if (setup_->zero == 1) {
      parts[MemoryKind::gathered] = way_->update_weights_bytes * (all + all / setup_->shards());
    }
    if (setup_->shards() == 1 && way_->frees_gradients_alone) {
      parts[MemoryKind::gradients] -= setup_->bytes.gradients * all;
    }
    return parts;
  }

  const TransformerShape* shape_;
  const MemorySetup* setup_;
  const Implementation* way_;
  double first_;
  double layers_;
  bool is_last_ = false;
  StageParameters parameters_;
  StageMemory memory_;
};

}  // namespace

std::string_view to_string(MemoryKind kind) {
  return kind_names[static_cast<std::size_t>(kind)];
}
std::string_view to_string(MemoryMoment moment) {
  return moment_names[static_cast<std::size_t>(moment)];
}

double MemoryParts::total(MemoryCounter counter) const {
  double sum = 0;
  for (std::size_t i = 0; i < memory_kinds; ++i) sum += bytes[i];
  if (counter != MemoryCounter::device) sum -= (*this)[MemoryKind::libraries];
  if (counter == MemoryCounter::allocated) sum -= (*this)[MemoryKind::fragmentation];
  return sum;
}

double MemoryParts::uncertain(MemoryCounter counter) const {
  const double live =
      (*this)[MemoryKind::activations] + (*this)[MemoryKind::backward] + (*this)[MemoryKind::loss];
  return counter == MemoryCounter::allocated ? live : live + (*this)[MemoryKind::fragmentation];
}

MemoryMoment StageMemory::peak(MemoryCounter counter) const {
  const auto need = [&](const MemoryParts& parts) { return parts.total(counter); };
  const auto most = std::ranges::max_element(at, {}, need);
  return static_cast<MemoryMoment>(most - at.begin());
}

StageMemory stage_memory(const TransformerShape& shape, const MemorySetup& setup,
                         const Implementation& way, int stage, double first, double layers) {
  return Stage(shape, setup, way, stage, first, layers).compute();
}

std::vector<StageMemory> stage_memories(const TransformerShape& shape, const MemorySetup& setup,
                                        const Implementation& way) {
  const std::vector<double> layers = layers_of_stages(setup, static_cast<double>(shape.layers));
  std::vector<StageMemory> memories;
  double first = 0;
  for (int stage = 0; stage < setup.stages; ++stage) {
    const double own = layers[static_cast<std::size_t>(stage)];
    memories.push_back(stage_memory(shape, setup, way, stage, first, own));
    first += own;
  }
  return memories;
}

}  // namespace dlscale::model::memory
