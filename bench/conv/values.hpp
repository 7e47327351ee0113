#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// What numbers a kernel computes with. Its time may depend on them: zeros flip no bits, so that a
/// device draws less power and keeps a higher clock.
enum class ValueKind { zeros, uniform, normal };
std::string_view value_kind_name(ValueKind kind);
ValueKind parse_value_kind(const std::string& name);  ///< throws ConfigError

/// Numbers to compute with, random unless they are zeros: the same few thousand over and over,
/// quick to write and without a denormal, whose arithmetic is slow on some processors.
class OperandValues {
 public:
  explicit OperandValues(ValueKind kind = ValueKind::normal);
  /// The value at place i of an array with standard deviation `sigma`; 0 of zeros.
  [[nodiscard]] float at(std::size_t i, float sigma) const {
    return sigma * tile_[i % tile_.size()];
  }
  void fill(std::span<float> values, float sigma) const;
  /// Any layout and precision.
  void fill(backend::ComputeDevice& device, const backend::Tensor& tensor, float sigma) const;

 private:
  std::vector<float> tile_;  ///< of standard deviation 1
};

}  // namespace dlscale::bench
