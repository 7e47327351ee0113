#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlscale {

/// Precision of activations and of weights in a kernel. Master weights and gradients stay f32; sums
/// are f32 always.
enum class DType {
  f32,
  tf32,  ///< f32 in memory; products of numbers rounded to 10 bits of mantissa
  bf16,
  f16,
};
inline constexpr std::array all_dtypes{DType::f32, DType::tf32, DType::bf16, DType::f16};
std::string_view dtype_name(DType dtype);
DType parse_dtype(std::string_view name);  ///< throws ConfigError
constexpr std::size_t element_bytes(DType dtype) {
  return dtype == DType::f32 || dtype == DType::tf32 ? 4 : 2;
}

/// When the gradients travel.
enum class Schedule {
  sequential,  ///< all-reduce layer by layer after the whole backward pass
  wait_free,   ///< WFBP: a layer's gradient travels while earlier layers still compute
  bucketed,    ///< WFBP over buckets of 1 MiB, then 25 MiB
};
std::string_view schedule_name(Schedule schedule);
Schedule parse_schedule(std::string_view name);  ///< throws ConfigError

/// When a batch that was read reaches the memory of the device.
enum class InputCopy {
  on_path,  ///< at the start of its iteration: (1.3')
  ahead,    ///< while the device computes the iteration before: (1.3)
};
std::string_view input_copy_name(InputCopy copy);
InputCopy parse_input_copy(std::string_view name);  ///< throws ConfigError

/// Where a decoded picture becomes the numbers that a network reads: (value / 255 - mean) /
/// deviation of each channel.
enum class Normalisation {
  host,    ///< by the loader threads; f32 travels to the device
  device,  ///< bytes travel to the device, a quarter as many
};
std::string_view normalisation_name(Normalisation normalisation);
Normalisation parse_normalisation(std::string_view name);  ///< throws ConfigError

/// How a host gives a device the work of an iteration.
enum class Launch {
  eager,  ///< every kernel anew
  graph,  ///< recorded once and given again as a whole: on NVIDIA GPUs CUDA graphs
};
std::string_view launch_name(Launch launch);
Launch parse_launch(std::string_view name);  ///< throws ConfigError

/// One training run: a network on a cluster. Everything a prediction and a measurement must agree
/// on. Weak scaling: `batch` images per rank.
struct Run {
  std::string network;
  std::string cluster = "local";
  int ranks = 1;
  int ranks_per_node = 1;
  int batch = 8;  ///< images per rank and iteration, ≥ 1
  DType dtype = DType::f32;
  Schedule schedule = Schedule::wait_free;
  int cores_per_rank = 1;   ///< processor cores the threads of a rank share; CPU devices
  int compute_threads = 1;  ///< threads of the compute device; CPU devices
  int loader_threads = 1;
  int prefetch = 2;  ///< batches decoded ahead, ≥ 1
  /// Devices with memory of their own copy ahead, processors cannot.
  InputCopy input_copy = InputCopy::on_path;
  Launch launch = Launch::eager;  ///< graph: only devices that run beside the host
  Normalisation normalisation = Normalisation::host;
  bool fuse_relu = false;  ///< ReLUs are part of the layers before them
};

/// Throws ConfigError naming the field, the value and what is allowed.
void check(const Run& run);

}  // namespace dlscale
