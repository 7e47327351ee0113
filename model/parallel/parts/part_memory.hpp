#pragma once
#include <vector>

#include "core/base/units.hpp"
#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "core/parallel/plan.hpp"
#include "core/parallel/schedule/family.hpp"
#include "core/run/run.hpp"
#include "model/parallel/parts/network_parts.hpp"
#include "model/sgd_iter/kernels/layer_memory.hpp"

namespace dlscale::model {

/// Memory of a rank that holds one or more parts of a network, by the rules of MemoryNeed. For the
/// parameters Ψ of its parts, micro-batches of N samples of e bytes an element, and l pieces (parts
/// of micro-batches) in flight at most:
///   states       Ψ times the bytes of StateBytes; + 2Ψ for weights in 16 bits
///   activations  l N (e Σ kept + Σ received); with full recomputation l N Σ received + N e Σ kept,
///                of the part that keeps most
///   gradients    N times those of the layer whose backward needs most
///   batch        the next micro-batch, on the first stage of devices with their own memory
/// Received tensors are those that the cut before the part sends on, and layers read in backward.
/// [D; GEMS's two copies of the network double states, not activations: one batch at a time,
/// 10.1109/SC41405.2020.00049] Too low by workspaces of kernels and what allocators lose.
///
/// The ends of its range are those of MemoryNeed: only outputs that a product makes anew are kept,
/// or half the activations more. [D]
struct PartMemory {
  Bytes states;
  Bytes activations;
  Bytes gradients;
  Bytes batch;
  Bytes kept;  ///< the least of activations, ≤ them
  [[nodiscard]] Bytes total() const { return states + activations + gradients + batch; }
  [[nodiscard]] Bytes least() const { return states + kept; }
  [[nodiscard]] Bytes most() const {
    return states + most_copies * activations + gradients + batch;
  }
};

/// The rules that the memory of parts follows.
struct PartMemoryRules {
  DeviceKind device = DeviceKind::gpu;
  parallel::KeptBytes bytes = {};
  double moments = 4;  ///< bytes a parameter (parallel::moment_bytes())
  parallel::Recompute recompute = parallel::Recompute::none;
  int recompute_layers = 0;  ///< of each part, with block
};
PartMemoryRules memory_rules(const parallel::ParallelPlan& plan, DeviceKind device);

/// Needs of layers, summed up for any run of consecutive ones.
class LayerSums {
 public:
  /// `run` gives precision, normalisation and, as its batch, the samples of a micro-batch.
  LayerSums(const Network& network, const Run& run, PartMemoryRules rules);
  /// The same for images with `ratio` > 0 times as many pixels: outputs of several pixels grow so.
  [[nodiscard]] LayerSums with_pixels(double ratio) const;
  /// The same with `shares` times the kept outputs and gradients of each layer, > 0.
  [[nodiscard]] LayerSums with_shares(const std::vector<double>& shares) const;
  /// Layers [first, end) as a part, of which at most `live` ≥ 1 pieces are in flight. O(1).
  [[nodiscard]] PartMemory part(std::size_t first, std::size_t end, int live) const;
  /// Its states and the outputs of its layers, which any part that begins earlier needs, too.
  [[nodiscard]] PartMemory least_part(std::size_t first, std::size_t end, int live) const;
  [[nodiscard]] Bytes states(std::size_t layer) const;
  /// Kept of one micro-batch without recomputation.
  [[nodiscard]] Bytes activations(std::size_t layer) const;
  /// Sent on by a cut behind the layer, of one micro-batch, one way.
  [[nodiscard]] Bytes crossing(std::size_t layer) const;

 private:
  /// Bytes that stay, where outputs add up by layer as in `kept`.
  [[nodiscard]] Bytes kept_live(const std::vector<double>& kept, std::size_t first, std::size_t end,
                                int live) const;
  void find_peaks();
  /// The most gradients of a sample of any layer in [first, end), which is not empty.
  [[nodiscard]] double most_gradients(std::size_t first, std::size_t end) const;

  PartMemoryRules rules_;
  double samples_;
  double element_;
  double state_bytes_;
  Bytes batch_;
  std::vector<double> parameters_;  ///< of the first layers, by their number
  std::vector<double> kept_;        ///< bytes of a sample, likewise
  std::vector<double> least_;       ///< of them, likewise
  std::vector<double> gradients_;   ///< bytes of a sample, by layer
  std::vector<std::vector<double>>
      peaks_;                       ///< of them, the most of 1, 2, 4, … layers, by the first
  std::vector<double> crossing_;    ///< elements, by layer
  std::vector<bool> makes_pixels_;  ///< by layer: several
  std::vector<bool> reads_pixels_;
};

/// By rank: the most pieces in flight of a pipeline of equal parts.
std::vector<int> usual_live(const parallel::PipelineSchedule& schedule,
                            const parallel::PipelineShape& shape);

/// Memory by rank of a pipeline that places part p on rank p mod S, and the parts of a second copy
/// in opposite order. `live` is the most pieces that each rank holds (PipelineTime::live).
std::vector<PartMemory> rank_memories(const LayerSums& sums, const NetworkParts& parts, int copies,
                                      const std::vector<int>& live);

}  // namespace dlscale::model
