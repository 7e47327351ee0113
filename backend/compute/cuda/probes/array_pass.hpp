#pragma once
#include <cstddef>
#include <cstdint>

#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/device_probes.hpp"

/// Passes over arrays, and the values that check them.
namespace dlscale::backend::cuda {

inline constexpr double pass_scalar = 3.0;

/// One element of a pass.
template <ArrayPass pass>
DLSCALE_HOST_DEVICE double pass_value(double a, double b) {
  if constexpr (pass == ArrayPass::copy) return a;
  if constexpr (pass == ArrayPass::scale) return pass_scalar * a;
  if constexpr (pass == ArrayPass::add) return a + b;
  return a + pass_scalar * b;
}

constexpr bool reads_two(ArrayPass pass) {
  return pass == ArrayPass::add || pass == ArrayPass::triad;
}

/// Loads past the L1 cache of the multiprocessor, which could hold what the same thread read in the
/// previous pass. For arrays up to its size, the rate would not be that of a shared cache.
DLSCALE_HOST_DEVICE inline Pack<double, 2> load_past_l1(const double* from) {
#ifdef __CUDA_ARCH__
  Pack<double, 2> pack;
  asm volatile("ld.global.cg.v2.f64 {%0, %1}, [%2];"
               : "=d"(pack.values[0]), "=d"(pack.values[1])
               : "l"(from));
  return pack;
#else
  return load<2>(from);
#endif
}

/// A pass that takes 16 bytes of each array at a time.
template <ArrayPass pass>
struct PassCode {
  static constexpr int width = 2;
  const double* a;
  const double* b;  ///< null where the pass reads one array
  double* out;

  DLSCALE_HOST_DEVICE void operator()(std::size_t pack) const {
    const auto first = load_past_l1(a + pack * width);
    Pack<double, width> second{};
    if constexpr (reads_two(pass)) second = load_past_l1(b + pack * width);
    Pack<double, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) {
      result.values[i] = pass_value<pass>(first.values[i], second.values[i]);
    }
    store(result, out + pack * width);
  }
};

// Small whole numbers, which make every result exact.
inline double first_input(std::size_t i) {
  return static_cast<double>(i % 251 + 1);
}
inline double second_input(std::size_t i) {
  return static_cast<double>(i % 127) - 63;
}
double expected_output(ArrayPass pass, std::size_t i);

/// Passes of one run for arrays of that size: about 256 MiB in all, so that a kernel is long
/// relative to its launch.
int passes_for(std::size_t bytes);

}  // namespace dlscale::backend::cuda
