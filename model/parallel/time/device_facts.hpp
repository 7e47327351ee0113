#pragma once
#include <string_view>

#include "core/cluster/device_file.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model::parallel_time {

/// CUDA's compute capabilities from which kernels of attention change.
inline constexpr double hopper_capability = 9;
inline constexpr double blackwell_capability = 10;

/// Number formats of a training: of products within layers, and of all else in 16 bits but for the
/// two formats of 32 bits. `f32` takes tf32's units, where the device has them.
enum class Precision { f32, tf32, half, eight_bits, four_bits };
/// The format that free text names: "bf16", "mixed-fp16", "mxfp8", "nvfp4". Throws ConfigError.
Precision parse_precision(std::string_view text);
/// Bytes of an element of 8 or 4 bits in memory, where a byte scales 16 elements of 4 bits (NVFP4);
/// 0 for other formats. Scales of 8 bits, at most 1/32, are left out.
double few_bit_bytes(Precision precision);

/// Facts of a device that the model reads, in SI units.
struct DeviceFacts {
  double multiprocessors = 1;
  double clock = 1;           ///< of tensor cores
  double bandwidth = 1;       ///< of memory
  double half_peak = 1;       ///< 16 bits, sums in f32; that of f32 where there is none
  double eight_bit_peak = 0;  ///< 0: none
  double four_bit_peak = 0;   ///< 0: none
  double wide_peak = 1;       ///< the greater of f32 and tf32
  double power_w = 0;         ///< 0: unknown
  double process_nm = 7;      ///< 7 where it is unknown
  double capability = 0;      ///< CUDA's compute capability; 0: not CUDA
};

/// The facts of a data sheet. Capability follows from the architecture. From Blackwell on, a 4-bit
/// peak that the sheet does not state is `four_bit_rate` times that of 8 bits.
DeviceFacts device_facts(const DeviceSheet& sheet, const TimeConstants& constants);

}  // namespace dlscale::model::parallel_time
