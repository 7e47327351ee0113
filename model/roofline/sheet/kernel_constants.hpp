#pragma once
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/fits/fitted_constant.hpp"

namespace dlscale::model::sheet {

/// Output of a block of threads, in elements.
struct Tile {
  double rows = 1;
  double columns = 1;
};

/// Constants of the times of kernels by data sheets (docs/explanation/data-sheet-times.md). None
/// names a device, a network or a framework. All but quantiles and terms of an interval are > 0.
/// The file has a source for each.
struct KernelConstants {
  // Fitted to published trainings:
  double efficiency = 1;         ///< of the peak at the sustained clock, in large products
  double convolution = 1;        ///< factor on it for convolutions
  double weight_gradient = 1;    ///< a further one for the gradient of their weights
  double kernel_overhead = 1;    ///< seconds of a kernel beside its work, with its launch
  double memory_efficiency = 1;  ///< e_m: part of the memory bandwidth
  double boost_weight = 1;       ///< w: place of the clock between base and boost
  double old_convolution = 1;    ///< factor of libraries of age 1 on ordinary cores

  // Fixed by physics, published times of kernels or judgement:
  double roof_power = 1;          ///< p: joins computing and memory
  double shared_reads = 1;        ///< of an operand in shared memory, by ordinary cores
  double tensor_reads = 1;        ///< the same by tensor cores; may be 0
  double tensor_reads_alone = 1;  ///< the same in products that run alone
  double shared_rate = 1;         ///< bytes a clock of a multiprocessor's shared memory
  double tile_start = 1;          ///< clocks to begin and end a tile
  double least_depth = 1;         ///< of a part of a split depth
  double partial_sums = 1;        ///< most that are written to memory and read
  double channel_grain = 1;       ///< channels that tensor cores take together in convolutions
  double layout_copies = 1;       ///< passes over a convolution's images to change their layout
  double strided_data = 1;        ///< factor on the rate of a strided convolution's data gradient
  double direct_channels = 1;     ///< most channels of a group that kernels compute without tiles
  double filtered_saving = 1;     ///< multiplications of minimal filtering: a direct one's over its
  double filtered_3x3 = 1;        ///< least input channels of 3 × 3 filters that have it
  double filtered_5x5 = 1;        ///< least input and output channels of 5 × 5 filters
  double old_half = 1;          ///< slowness of passes over 16-bit elements with libraries of age 1
  double old_tensor_ages = 1;   ///< times that age counts on tensor cores
  double recorded = 1;          ///< factor on the overhead of kernels in a recorded graph
  double new_libraries = 1;     ///< year from which on libraries are of age 0
  double years_of_age = 1;      ///< by which those of age 1 are older
  double fused_updates = 1;     ///< kernels a tensor of an update of all tensors together
  double tensor_updates = 1;    ///< of one tensor by tensor
  double operator_updates = 1;  ///< of one operator by operator
  std::vector<Tile> tiles;      ///< that libraries have
  std::vector<double> splits;   ///< parts of the depth, ascending from 1
  double flops_per_joule = 1;   ///< in f32 products by ordinary cores in a process of 16 nm
  double process_exponent = 1;  ///< of 16 nm over another process, for the same
  double load_exponent = 1;     ///< sharpness of the limit that the board's power sets

  // Streams of products alone have it; trainings have 0, as their products do not follow directly:
  double power_weight = 0;  ///< exponent of the clock that the board's power leaves

  // The logarithm of measured over predicted times lies between low and high times the exponential
  // of the sum of the terms, in 90 of 100 trainings:
  double interval_always = 0;     ///< always
  double interval_half = 0;       ///< in 16 bits
  double interval_sequences = 0;  ///< with attention
  double interval_old = 0;        ///< with libraries of an age > 0
  double interval_low = 0;        ///< < 0
  double interval_high = 0;       ///< > 0

  int trainings = 0;  ///< number that they were fitted to
};

/// A constant and its key in the file.
struct ConstantKey {
  std::string_view key;
  double KernelConstants::*value;
};

/// Constants that are fitted to published trainings, in the order of the file.
std::span<const ConstantKey> fitted_constants();
/// Constants of the interval.
std::span<const ConstantKey> interval_constants();
/// Constants that are fitted to published times of products alone.
std::span<const ConstantKey> fitted_to_kernels();

/// A file such as configs/models/kernels.yaml.
struct KernelFile {
  KernelConstants constants;
  std::map<std::string, FittedConstant, std::less<>> fitted;   ///< to trainings, by key
  std::map<std::string, FittedConstant, std::less<>> kernels;  ///< to products alone, by key
  /// Fits that have not seen one source of trainings, by that source. Their other constants are
  /// those of the file.
  std::map<std::string, KernelConstants, std::less<>> without;
};

/// Reads such a file, of which all keys count. Throws ConfigError, which names file, place and what
/// to write.
KernelFile load_kernel_file(const std::filesystem::path& path);
KernelConstants load_kernel_constants(const std::filesystem::path& path);

/// The constants of configs/models/kernels.yaml, which is read once. Throws ConfigError.
const KernelConstants& nominal_constants();

/// The constants of a file for products that run alone, one after the other.
KernelConstants alone(const KernelFile& file);

/// The text of a file with another section at a key of its first level, at the end if it had none.
/// The section begins with its key; its lines end. The rest stays as it was, comments too.
std::string with_section(std::string_view file, std::string_view key, std::string_view section);

/// "name: {value: …, low: …, high: …, prior: …, spread: …}", as in a file.
std::string fitted_text(std::string_view key, const FittedConstant& constant);

}  // namespace dlscale::model::sheet
