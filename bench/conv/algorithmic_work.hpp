#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "core/network/step.hpp"

namespace dlscale::bench {

/// A kernel as it was measured.
struct MeasuredKernel {
  std::string key;  ///< kernel_key()
  Pass pass = Pass::forward;
  int batch = 1;
  DType dtype = DType::f32;
  int threads = 1;
};

/// What the algorithm really does that a backend ran, told from its implementation. Nothing for
/// other layers than convolutions, for implementations whose algorithm is not known, and in
/// precisions of 2 bytes for those that transform, since it is not known in which precision their
/// planes lie. Reorders are not in it.
std::optional<Work> algorithmic_work(std::string_view backend, std::string_view implementation,
                                     const MeasuredKernel& kernel);

}  // namespace dlscale::bench
