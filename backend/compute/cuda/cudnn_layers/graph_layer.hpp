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
  /// Where the tensors of the graph lie. `state` has state_bytes() and begins on a multiple of 256.
  [[nodiscard]] virtual std::vector<Binding> bindings(Pass pass, const Operands& operands,
                                                      std::byte* state) const = 0;
  [[nodiscard]] virtual std::size_t state_bytes() const { return 0; }
  [[nodiscard]] virtual std::vector<Parameter> parameters() const { return {}; }
};

/// A layer whose tensors lie in `order`; null for kinds that cuDNN has no graphs of, and for layers
/// that have taken in a ReLU.
std::shared_ptr<const GraphLayer> graph_layer(const OperationSpec& spec, Order order);

/// By kind; see graph_layer().
/// Max and average pooling. A max pooling keeps where the largest elements were (nhwc), or compares
/// its input with its output (nchw), as the engines for these orders want it.
std::shared_ptr<const GraphLayer> pooling_graphs(const OperationSpec& spec, const Pooling& kind,
                                                 Order order);
/// Training form, of nhwc tensors. Keeps the mean and 1 / sqrt(variance + epsilon) of each channel.
std::shared_ptr<const GraphLayer> batch_norm_graphs(const OperationSpec& spec,
                                                    const BatchNorm& kind, Order order);
std::shared_ptr<const GraphLayer> relu_graphs(const OperationSpec& spec, Order order);

/// Elements beyond the edges of an image that windows of a pooling reach, along one dimension.
struct Overhang {
  std::int64_t before;
  std::int64_t after;
};

/// cuDNN counts (input + before + after - kernel) / stride + 1 windows, rounded down: what makes
/// that `output` for a layer with `pad` on both sides. In ceil mode `after` can be more than `pad`,
/// elsewhere less where the last window does not reach so far; never below 0.
Overhang overhang(std::int64_t input, std::int64_t output, int kernel, int stride, int pad);

}  // namespace dlscale::backend::cuda
