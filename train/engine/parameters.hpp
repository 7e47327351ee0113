#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/compute.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::train {

/// A learned tensor and its place in the arrays, in elements.
struct ParameterSlot {
  LayerId layer;
  backend::Parameter parameter;
  std::size_t offset = 0;
  std::size_t elements = 0;  ///< padding of the layout included
};

/// Offsets of all parameters, in the order in which backward finishes their gradients, so that any
/// run of layers is one contiguous span. Each tensor starts at a multiple of 32 elements, which is
/// 64 bytes in bf16. The padding between tensors stays zero.
class ParameterLayout {
 public:
  /// `operations` by layer index; none for the input.
  ParameterLayout(const Network& network,
                  std::span<const std::unique_ptr<backend::Operation>> operations);

  [[nodiscard]] std::size_t elements() const { return elements_; }
  [[nodiscard]] const std::vector<ParameterSlot>& slots() const { return slots_; }
  /// The slots of a layer in the order of Operation::parameters(); empty for layers without.
  [[nodiscard]] std::span<const ParameterSlot> of(LayerId layer) const;
  /// Whether operations read bf16 copies of some parameters.
  [[nodiscard]] bool has_low_precision() const;
  /// Names the layout of every tensor. Two ranks may add up their gradients only if it is equal.
  [[nodiscard]] std::string description() const;

 private:
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  std::vector<ParameterSlot> slots_;
  std::vector<Range> by_layer_;
  std::size_t elements_ = 0;
};

/// Master weights, gradients and momenta, one f32 array each, and a bf16 copy for operations that
/// compute in bf16.
class Parameters {
 public:
  Parameters(ParameterLayout layout, backend::ComputeDevice& device);

  /// Bytes that the constructor allocates.
  static std::size_t bytes(const ParameterLayout& layout);

  [[nodiscard]] const ParameterLayout& layout() const { return layout_; }
  /// The tensor that an operation reads, in its compute precision.
  [[nodiscard]] backend::Tensor value(const ParameterSlot& slot) const;
  [[nodiscard]] backend::Tensor gradient(const ParameterSlot& slot) const;
  /// The f32 value that update() changes.
  [[nodiscard]] backend::Tensor master(const ParameterSlot& slot) const;

  [[nodiscard]] std::span<float> masters() const;
  [[nodiscard]] std::span<float> gradients() const;
  /// The gradients from the first to the last of `layers`, which are neighbours in backward order.
  [[nodiscard]] std::span<float> gradients(std::span<const LayerId> layers) const;
  /// The master values from the first to the last of `layers`, likewise.
  [[nodiscard]] std::span<float> masters(std::span<const LayerId> layers) const;

  /// Sets He-normal weights, scale 1, all else 0, and zero momenta.
  void initialise(std::uint64_t seed);
  void update(const backend::SgdStep& step);
  /// Updates only these layers; each element gets the same value as in an update of all layers.
  void update(const backend::SgdStep& step, std::span<const LayerId> layers);
  /// Refreshes the bf16 copies after a change of masters(). Clears gradients and momenta.
  void masters_changed();
  /// Refreshes the bf16 copies after a change of masters(layers). Clears theirs.
  void masters_changed(std::span<const LayerId> layers);

  /// Converts `tensor`, which belongs to a slot of the layer, to plain f32, and back.
  [[nodiscard]] std::vector<float> to_plain(const backend::Tensor& tensor) const;
  void from_plain(std::span<const float> plain, const backend::Tensor& tensor) const;

 private:
  /// A range of elements.
  struct Range {
    std::size_t first = 0;
    std::size_t count = 0;
  };
  [[nodiscard]] Range range_of(std::span<const LayerId> layers) const;
  void update(const backend::SgdStep& step, Range range);
  void change_masters(Range range);

  ParameterLayout layout_;
  backend::ComputeDevice* device_;
  backend::Buffer masters_;
  backend::Buffer gradients_;
  backend::Buffer momenta_;
  backend::Buffer low_;  ///< empty without low precision
};

}  // namespace dlscale::train
