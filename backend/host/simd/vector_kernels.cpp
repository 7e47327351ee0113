#include "backend/host/simd/vector_kernels.hpp"

#include <iterator>
#include <limits>
#include <span>
#include <vector>

// Compiles this file once for each instruction set. Arrays of vectors need a size known here, and
// one of several targets that do not differ for this file is enough.
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/host/simd/vector_kernels.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/host/simd/vector_loops_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::simd::HWY_NAMESPACE {

/// Usual name of the instruction set; "" for targets that are not vector instruction sets of a
/// processor.
constexpr std::string_view isa() {
  switch (HWY_TARGET) {
    case HWY_SSE4:
      return "sse4";
    case HWY_AVX2:
      return "avx2";
    case HWY_AVX3:
      return "avx512";
    case HWY_NEON:
      return "neon";
    default:
      return "";
  }
}

VectorKernels kernels() {
  return {{isa(), loops<Stores::ordinary>(), loops<Stores::streaming>(), run_intensity<float>,
           run_intensity<double>},
          peak<float>(isa(), "f32", std::numeric_limits<float>::epsilon()),
          peak<double>(isa(), "f64", std::numeric_limits<double>::epsilon())};
}

}  // namespace dlscale::backend::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlscale::backend::simd {

HWY_EXPORT(kernels);

/// Entry i of Highway's dispatch table is for the target at bit i of its masks. The first entry
/// chooses among the others and the last is the fallback, unless there is only one target.
std::vector<VectorKernels> vector_kernels() {
  constexpr std::size_t count = std::size(HWY_DISPATCH_TABLE(kernels));
  const std::span table(HWY_DISPATCH_TABLE(kernels));
  const std::int64_t supported = HWY_CHOSEN_TARGET_SHIFT(hwy::SupportedTargets());
  std::vector<VectorKernels> found;
  if (count == 1) found.push_back(table.front()());
  for (std::size_t i = count - 1; i-- > 1;) {
    if (table[i] != nullptr && (supported >> i & 1) != 0) found.push_back(table[i]());
  }
  std::erase_if(found, [](const VectorKernels& each) { return each.arrays.isa.empty(); });
  return found;
}

}  // namespace dlscale::backend::simd
#endif
