#pragma once
#include <string_view>
#include <vector>

#include "backend/host/simd/kernels.hpp"

namespace dlscale::backend::simd {

/// Products of bf16 summed in f32, by the instructions that some processors have for them.
struct Bf16Instructions {
  PeakKernel kernel;
  bool (*usable)();  ///< on this processor, and the system lets this process use them
};

/// Those that this build holds; none for other processors than x86-64.
std::vector<Bf16Instructions> bf16_instructions();

}  // namespace dlscale::backend::simd
