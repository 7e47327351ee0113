#include "backend/host/simd/kernels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "backend/host/simd/bf16_kernels.hpp"
#include "backend/host/simd/vector_kernels.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::simd {
namespace {

#if defined(__x86_64__)
constexpr std::array<std::string_view, 5> known{"sse4", "avx2", "avx512", "avx512_bf16",
                                                "amx_bf16"};
#else
constexpr std::array<std::string_view, 1> known{"neon"};
#endif

std::vector<ArrayKernels> find_array_kernels() {
  std::vector<ArrayKernels> found;
  for (const VectorKernels& each : vector_kernels()) found.push_back(each.arrays);
  return found;
}

std::vector<PeakKernel> find_peak_kernels() {
  std::vector<PeakKernel> found;
  for (const VectorKernels& each : vector_kernels()) {
    found.push_back(each.peak_f32);
    found.push_back(each.peak_f64);
  }
  for (const Bf16Instructions& each : bf16_instructions()) {
    if (each.usable()) found.push_back(each.kernel);
  }
  return found;
}

}  // namespace

std::span<const ArrayKernels> array_kernels() {
  static const std::vector<ArrayKernels> found = find_array_kernels();
  return found;
}

std::span<const PeakKernel> peak_kernels() {
  static const std::vector<PeakKernel> found = find_peak_kernels();
  return found;
}

const ArrayKernels& array_kernels_of(std::string_view isa) {
  for (const ArrayKernels& each : array_kernels()) {
    if (each.isa == isa) return each;
  }
  const std::string reason = obstacle(isa);
  throw Unsupported(reason.empty() ? fmt::format("{} has no loads and stores of its own", isa)
                                   : reason);
}

std::span<const std::string_view> known_instruction_sets() {
  return known;
}

std::string obstacle(std::string_view isa) {
  std::string usable;
  for (const PeakKernel& each : peak_kernels()) {
    if (each.isa == isa) return "";
    if (usable.ends_with(each.isa)) continue;
    usable += (usable.empty() ? "" : ", ") + std::string(each.isa);
  }
  if (array_kernels().empty() && !isa.ends_with("bf16")) {
    return "this was built without Highway (libhwy), which the vector kernels are written with";
  }
  return fmt::format("this processor has no {} that programs may use (it has {})", isa, usable);
}

}  // namespace dlscale::backend::simd
