#pragma once
#include <cstdint>

/// Clocks of the device. A reading is not moved across memory accesses or another reading.
namespace dlscale::backend::cuda {

/// Cycle counter of the multiprocessor, low 32 bits: differences below 2^32 are right.
__device__ inline std::uint32_t lap_clock() {
  std::uint32_t cycles = 0;
  asm volatile("mov.u32 %0, %clock;" : "=r"(cycles)::"memory");
  return cycles;
}

__device__ inline std::uint64_t cycle_clock() {
  std::uint64_t cycles = 0;
  asm volatile("mov.u64 %0, %clock64;" : "=l"(cycles)::"memory");
  return cycles;
}

/// Nanosecond clock common to all multiprocessors; it ticks once a microsecond or more often.
__device__ inline std::uint64_t nanosecond_clock() {
  std::uint64_t time = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(time)::"memory");
  return time;
}

}  // namespace dlscale::backend::cuda
