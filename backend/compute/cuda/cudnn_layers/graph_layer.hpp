#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/cudnn/graph.hpp"
#include "backend/compute/cuda/cudnn/plan.hpp"

namespace dlscale::backend::cuda {

/// A layer as graphs of cuDNN: one for forward, one for backward_data.
class GraphLayer {
 public:
  virtual ~GraphLayer() = default;
  /// Throws Unsupported with the reason, or LibraryError.
  [[nodiscard]] virtual Graph graph(const Target& target, Pass pass) const = 0;
  /// Addresses of the graph's tensors. `state` has state_bytes() and begins on a multiple of 256.
  [[nodiscard]] virtual std::vector<Binding> bindings(Pass pass, const Operands& operands,
                                                      std::byte* state) const = 0;
  [[nodiscard]] virtual std::size_t state_bytes() const { return 0; }
  [[nodiscard]] virtual std::vector<Parameter> parameters() const { return {}; }
};

/// A layer whose tensors have `order`; null for kinds without cuDNN graphs, and for layers with a
/// fused ReLU.
std::shared_ptr<const GraphLayer> graph_layer(const OperationSpec& spec, Order order);

/// Makers by kind; see graph_layer(). Max and average pooling. Max pooling keeps the positions of
/// the largest elements (nhwc), or compares its input with its output (nchw), as the engines for
/// these orders require.
std::shared_ptr<const GraphLayer> pooling_graphs(const OperationSpec& spec, const Pooling& kind,
                                                 Order order);
/// Training form, for nhwc tensors. Keeps the mean and 1 / sqrt(variance + epsilon) of each
/// channel.
std::shared_ptr<const GraphLayer> batch_norm_graphs(const OperationSpec& spec,
                                                    const BatchNorm& kind, Order order);
std::shared_ptr<const GraphLayer> relu_graphs(const OperationSpec& spec, Order order);

/// Number of elements by which pooling windows reach beyond the edges of an image, along one
/// dimension.
struct Overhang {
  std::int64_t before;
  std::int64_t after;
};

/// The overhang for which cuDNN counts `output` windows in a layer with `pad` on both sides. cuDNN
/// counts (input + before + after - kernel) / stride + 1 windows, rounded down. In ceil mode
/// `after` can exceed `pad`. Elsewhere it is less where the last window does not reach so far. It
/// is never below 0.
Overhang overhang(std::int64_t input, std::int64_t output, int kernel, int stride, int pad);

}  // namespace dlscale::backend::cuda
