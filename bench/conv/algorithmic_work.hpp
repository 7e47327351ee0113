#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/network/step.hpp"

namespace dlscale::bench {

/// A measured kernel.
struct MeasuredKernel {
  std::string key;  ///< kernel_key()
  Pass pass = Pass::forward;
  int batch = 1;
  DType dtype = DType::f32;
  int threads = 1;
};

/// Actual work of the algorithm that a backend ran, derived from the implementation's name. Empty
/// for layers other than convolutions and for implementations with an unknown algorithm. Also empty
/// for transforms in precisions of 2 bytes, as the precision of their planes is unknown. Reorders
/// are not included.
std::optional<Work> algorithmic_work(std::string_view backend, std::string_view implementation,
                                     const MeasuredKernel& kernel);

}  // namespace dlscale::bench
