#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "backend/compute/precision.hpp"
#include "core/base/error.hpp"

#ifdef __CUDACC__
#define DLSCALE_HOST_DEVICE __host__ __device__
#else
#define DLSCALE_HOST_DEVICE
#endif
#ifdef __CUDA_ARCH__
#define DLSCALE_UNROLL _Pragma("unroll")
#else
#define DLSCALE_UNROLL
#endif

/// Vocabulary of our own kernels: code for host and device, so that a kernel's results can be
/// tested on a machine without a GPU.
namespace dlscale::backend::cuda {

struct Bfloat16 {
  std::uint16_t bits;
};

struct Half {
  std::uint16_t bits;
};

DLSCALE_HOST_DEVICE inline float to_float(float value) {
  return value;
}

DLSCALE_HOST_DEVICE inline float to_float(Bfloat16 value) {
#ifdef __CUDA_ARCH__
  return __uint_as_float(static_cast<unsigned>(value.bits) << 16);
#else
  return from_bfloat16(value.bits);
#endif
}

DLSCALE_HOST_DEVICE inline float to_float(Half value) {
#ifdef __CUDA_ARCH__
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(value.bits));
  return wide;
#else
  return from_half(value.bits);
#endif
}

/// Rounds to nearest, ties to even.
template <class T>
DLSCALE_HOST_DEVICE T from_float(float value);

template <>
DLSCALE_HOST_DEVICE inline float from_float<float>(float value) {
  return value;
}

template <>
DLSCALE_HOST_DEVICE inline Bfloat16 from_float<Bfloat16>(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  std::uint16_t bits;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#elif defined(__CUDA_ARCH__)
  const unsigned bits = __float_as_uint(value);
  if (value != value) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
#else
  return {to_bfloat16(value)};
#endif
}

template <>
DLSCALE_HOST_DEVICE inline Half from_float<Half>(float value) {
#ifdef __CUDA_ARCH__
  std::uint16_t bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
  return {bits};
#else
  return {to_half(value)};
#endif
}

/// base^exponent for a positive base, to about 2 millionths on the device.
DLSCALE_HOST_DEVICE inline float power(float base, float exponent) {
#ifdef __CUDA_ARCH__
  return exp2f(exponent * __log2f(base));
#else
  return std::pow(base, exponent);
#endif
}

/// Elements that are read or written at once. Their address must be a multiple of their size.
template <class T, int width>
struct alignas(sizeof(T) * width) Pack {
  T values[width];
};

/// Number of elements in 16 bytes, the most that a thread moves at once.
template <class T>
inline constexpr int full_width = static_cast<int>(16 / sizeof(T));

template <int width, class T>
DLSCALE_HOST_DEVICE Pack<T, width> load(const T* from) {
  return *reinterpret_cast<const Pack<T, width>*>(from);
}

template <class T, int width>
DLSCALE_HOST_DEVICE void store(const Pack<T, width>& pack, T* to) {
  *reinterpret_cast<Pack<T, width>*>(to) = pack;
}

/// Reads `count` floats, a power of two, in fours where as many are left.
template <int count>
DLSCALE_HOST_DEVICE void load_floats(const float* from, float (&to)[count]) {
  constexpr int width = std::min(count, 4);
  DLSCALE_UNROLL
  for (int i = 0; i < count; i += width) {
    const Pack<float, width> pack = load<width>(from + i);
    DLSCALE_UNROLL
    for (int k = 0; k < width; ++k) to[i + k] = pack.values[k];
  }
}

/// Divides numbers below 2^31 by a constant of 1 to 2^31, by a multiplication. With 2^l ≥ d the
/// multiplier m = ceil(2^(31+l) / d) is too large by less than 2^l / d, so that n · m / 2^(31+l) is
/// too large by less than 1/d [Granlund, Montgomery 1994].
class Divisor {
 public:
  struct Parts {
    std::uint32_t quotient;
    std::uint32_t remainder;
  };

  Divisor() : Divisor(1) {}
  explicit Divisor(std::int64_t divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
    EXPECT(divisor >= 1 && divisor <= std::int64_t{1} << 31);
    shift_ = 31 + static_cast<int>(std::bit_width(divisor_ - 1));
    multiplier_ =
        static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + divisor_ - 1) / divisor_);
  }

  DLSCALE_HOST_DEVICE std::uint32_t quotient(std::uint32_t number) const {
    return static_cast<std::uint32_t>(std::uint64_t{number} * multiplier_ >> shift_);
  }
  DLSCALE_HOST_DEVICE Parts split(std::uint32_t number) const {
    const std::uint32_t whole = quotient(number);
    return {whole, number - whole * divisor_};
  }
  DLSCALE_HOST_DEVICE std::uint32_t divisor() const { return divisor_; }

 private:
  std::uint32_t divisor_;
  std::uint32_t multiplier_ = 0;
  int shift_ = 0;
};

/// The size of every team of threads, a CUDA block. Consecutive threads of a team get neighbouring
/// work, so that they read and write contiguous memory.
inline constexpr std::uint32_t team_size = 256;

/// Position of a thread: the coordinates of its team in the grid, and its index in the team.
struct Place {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t thread;
};

// A *launcher* enqueues kernels. Kernel bodies are values of one of two forms:
//   launcher.each(name, body, n)        calls body(i) for every i < n, in any order;
//   launcher.teams(name, body, x, y)    calls body.run(phase, place, shared) for every thread of a
//                                       grid of x · y teams. Each team has a Body::Shared of its
//                                       own. It starts a phase, out of Body::phases, when all its
//                                       threads have done the previous one.
// It also has launcher.upload(from, to, bytes), which copies from the host, and
// launcher.processors(), the least number of teams that keeps the device busy.

}  // namespace dlscale::backend::cuda
