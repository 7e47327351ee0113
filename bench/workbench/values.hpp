#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/compute/compute.hpp"

namespace dlscale::bench {

/// Values of a kernel's operands. They may affect its time: zeros flip no bits, so a device draws
/// less power and keeps a higher clock.
enum class ValueKind { zeros, uniform, normal };
std::string_view value_kind_name(ValueKind kind);
ValueKind parse_value_kind(const std::string& name);  ///< throws ConfigError

/// Operand values, random unless they are zeros. The same few thousand values repeat, which is fast
/// to write. None is denormal, as arithmetic on denormals is slow on some processors.
class OperandValues {
 public:
  explicit OperandValues(ValueKind kind = ValueKind::normal);
  /// The value at index i of an array with standard deviation `sigma`; 0 for zeros.
  [[nodiscard]] float at(std::size_t i, float sigma) const {
    return sigma * tile_[i % tile_.size()];
  }
  void fill(std::span<float> values, float sigma) const;
  /// Fills a tensor of any layout and precision.
  void fill(backend::ComputeDevice& device, const backend::Tensor& tensor, float sigma) const;

 private:
  std::vector<float> tile_;  ///< with standard deviation 1
};

}  // namespace dlscale::bench
