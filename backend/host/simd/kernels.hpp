#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace dlscale::backend::simd {

/// Loops that show what a processor can do at most, for each of its instruction sets. They are
/// named as people name them ("sse4", "avx2", "avx512", "avx512_bf16", "amx_bf16", "neon").

/// A pass over n doubles at a time: from a and b to out, as the names below say; `sum` returns
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

/// How results are written.
enum class Stores {
  ordinary,   ///< a line that is not in the caches is read before it is written
  streaming,  ///< past the caches, whole lines at once
};

/// `multiply_adds` of each of n elements in registers between a load and a store of it: x ← x b + c
/// with b and c as IntensityStep says, and after them x ← x + c if `addition`. The elements are
/// whole lines of 64 bytes and begin at a multiple of that.
template <class Float>
using IntensityLoop = void (*)(std::size_t n, int multiply_adds, bool addition, Float* x);

struct ArrayKernels {
  std::string_view isa;
  ArrayLoops ordinary;
  ArrayLoops streaming;
  IntensityLoop<float> intensity_f32;
  IntensityLoop<double> intensity_f64;
};

/// The x ← x b + c of an IntensityLoop: to a fixed point of 4, slowly.
template <class Float>
struct IntensityStep {
  static constexpr Float b = Float(0.999);
  static constexpr Float c = Float(0.004);
};

/// Multiply-adds in registers alone: enough independent chains of them that none waits.
struct PeakKernel {
  std::string_view isa;
  std::string_view dtype;  ///< of the factors: "f64", "f32", "bf16" (whose sums are f32)
  double flops;            ///< of a round, a multiply-add being two
  /// Runs so many rounds ≥ 1 and returns the largest relative error of what the registers hold
  /// afterwards: each round moves every sum by a known amount, so that one left out shows, too.
  double (*run)(std::int64_t rounds);
  double rounding;  ///< most of that error that rounding may make in a round
};

/// Those that this processor can run and this build holds, the narrowest first.
std::span<const ArrayKernels> array_kernels();
std::span<const PeakKernel> peak_kernels();

/// The array kernels of that instruction set. Throws Unsupported with the reason where there are
/// none here.
const ArrayKernels& array_kernels_of(std::string_view isa);

/// Every instruction set that a build for this kind of processor knows, and why one of them cannot
/// be used here ("" if it can).
std::span<const std::string_view> known_instruction_sets();
std::string obstacle(std::string_view isa);

}  // namespace dlscale::backend::simd
