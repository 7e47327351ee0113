#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/cuda/cudnn/graph.hpp"
#include "backend/compute/specification.hpp"

namespace dlscale::backend::cuda {

/// Builds a graph part by part: a part comes after those that it refers to. Parts are identified by
/// index. All calls throw as Descriptor does.
class GraphParts {
 public:
  /// `what` the graph is for appears in messages. All its tensors have `order`.
  GraphParts(std::string what, Order order)
      : what_(std::make_shared<const std::string>(std::move(what))), order_(order) {}

  /// A tensor on the device.
  std::size_t tensor(TensorId id, const Dims& dims, cudnnDataType_t type);
  /// One f32 number per channel, for tensors with `channels`.
  std::size_t channel_vector(TensorId id, std::int64_t channels);
  /// An f32 number in host memory, which is read when the graph is executed.
  std::size_t host_number(TensorId id);

  /// A part to fill with attributes and then keep.
  [[nodiscard]] Descriptor descriptor(cudnnBackendDescriptorType_t type) const {
    return {type, what_};
  }
  std::size_t keep(Descriptor&& part);
  /// Keeps an operation of the graph.
  void operate(Descriptor&& operation) { operations_.push_back(keep(std::move(operation))); }
  const Descriptor& operator[](std::size_t part) const { return parts_[part]; }

  /// The graph of all operations.
  [[nodiscard]] Graph graph(const Target& target) && {
    return {target, std::move(parts_), operations_};
  }

 private:
  Descriptor tensor_descriptor(TensorId id, const Dims& dims, cudnnDataType_t type) const;

  std::shared_ptr<const std::string> what_;
  Order order_;
  std::vector<Descriptor> parts_;
  std::vector<std::size_t> operations_;
};

}  // namespace dlscale::backend::cuda
