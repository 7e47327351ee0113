#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dlscale::backend::simd {

/// Loops that measure the peak rates of a processor, for each of its instruction sets. Instruction
/// sets have their usual names ("sse4", "avx2", "avx512", "avx512_bf16", "amx_bf16", "neon").

/// A pass over n doubles from a and b to out, as the member names of ArrayLoops say. `sum` returns
/// Σ a, the others 0. n is a multiple of 8, the arrays begin at multiples of 64 bytes.
using ArrayLoop = double (*)(std::size_t n, const double* a, const double* b, double* out);

/// One loop for each pass; the factor is 3.
struct ArrayLoops {
  ArrayLoop copy;   ///< out = a
  ArrayLoop scale;  ///< out = 3 a
  ArrayLoop add;    ///< out = a + b
  ArrayLoop triad;  ///< out = a + 3 b
  ArrayLoop sum;    ///< Σ a
  ArrayLoop fill;   ///< out = 3
};

/// How a kernel stores results.
enum class Stores {
  ordinary,   ///< a line that is not in the caches is read before it is written
  streaming,  ///< bypasses the caches, whole lines at once
};

/// Applies `multiply_adds` multiply-adds to each of n elements in registers between its load and
/// its store: x ← x b + c, with b and c of IntensityStep, and then x ← x + c if `addition`. The
/// elements are whole lines of 64 bytes, aligned to 64 bytes.
template <class Float>
using IntensityLoop = void (*)(std::size_t n, int multiply_adds, bool addition, Float* x);

struct ArrayKernels {
  std::string_view isa;
  ArrayLoops ordinary;
  ArrayLoops streaming;
  IntensityLoop<float> intensity_f32;
  IntensityLoop<double> intensity_f64;
};

/// The x ← x b + c of an IntensityLoop. It converges slowly to a fixed point of 4.
template <class Float>
struct IntensityStep {
  static constexpr Float b = Float(0.999);
  static constexpr Float c = Float(0.004);
};

/// Multiply-adds in registers alone, in enough independent chains to hide their latency.
struct PeakKernel {
  std::string_view isa;
  std::string_view dtype;  ///< type of the factors: "f64", "f32", "bf16" (summed in f32)
  double flops;            ///< per round; a multiply-add counts as two
  /// Runs `rounds` ≥ 1 rounds and returns the largest relative error of the registers afterwards.
  /// Each round changes every sum by a known amount, so that a skipped round shows, too.
  double (*run)(std::int64_t rounds);
  double rounding;  ///< largest relative rounding error per round
};

/// Kernels that are in this build and run on this processor, the narrowest first.
std::span<const ArrayKernels> array_kernels();
std::span<const PeakKernel> peak_kernels();

/// The array kernels of that instruction set. Throws Unsupported with the reason if there are none
/// here.
const ArrayKernels& array_kernels_of(std::string_view isa);

/// All instruction sets that a build for this kind of processor knows; obstacle() returns why one
/// is unusable here ("" if it is usable).
std::span<const std::string_view> known_instruction_sets();
std::string obstacle(std::string_view isa);

}  // namespace dlscale::backend::simd
