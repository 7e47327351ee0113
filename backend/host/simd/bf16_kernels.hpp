#pragma once
#include <string_view>
#include <vector>

#include "backend/host/simd/kernels.hpp"

namespace dlscale::backend::simd {

/// Products of bf16 summed in f32, by the processor's instructions for them.
struct Bf16Instructions {
  PeakKernel kernel;
  bool (*usable)();  ///< whether this processor has them and the system lets this process use them
};

/// The kernels in this build; none for processors other than x86-64.
std::vector<Bf16Instructions> bf16_instructions();

}  // namespace dlscale::backend::simd
