#pragma once
#include <filesystem>

namespace dlscale::model::sheet {

/// Constants of the times of kernels by data sheets (docs/explanation/data-sheet-times.md). None
/// names a device, a network or a framework. All but quantiles and terms of an interval are > 0.
struct KernelConstants {
  // Fitted to published trainings:
  double efficiency = 1;              ///< of the peak at the sustained clock, in large products
  double convolution = 1;             ///< factor on it for convolutions
  double weight_gradient = 1;         ///< a further one for the gradient of their weights
  double kernel_overhead = 1;         ///< seconds of a kernel beside its work, with its launch
  double memory_efficiency = 1;       ///< e_m: part of the memory bandwidth
  double boost_weight = 1;            ///< w: place of the clock between base and boost
  double old_convolution = 1;         ///< factor of libraries of age 1 on ordinary cores
  double old_tensor_convolution = 1;  ///< on tensor cores

  // Fixed by physics or published times of kernels:
  double roof_power = 1;     ///< p: joins computing and memory
  double shared_reads = 1;   ///< of an operand in shared memory
  double tile_start = 1;     ///< clocks to begin and end a tile
  double layout_copies = 1;  ///< passes over a convolution's images to change their layout
  double strided_data = 1;   ///< factor on the rate of a strided convolution's data gradient
  double old_half = 1;       ///< slowness of passes over 16-bit elements with libraries of age 1
  double recorded = 1;       ///< factor on the overhead of kernels in a recorded graph

  // The logarithm of measured over predicted times lies between low and high times the exponential
  // of the sum of the terms, in 90 of 100 trainings:
  double interval_always = 0;     ///< always
  double interval_half = 0;       ///< in 16 bits
  double interval_sequences = 0;  ///< over sequences
  double interval_old = 0;        ///< with libraries of an age > 0
  double interval_low = 0;        ///< < 0
  double interval_high = 0;       ///< > 0
};

/// Reads a file such as configs/models/kernels.yaml. Throws ConfigError, which names file, place
/// and what to write.
KernelConstants load_kernel_constants(const std::filesystem::path& path);

/// The constants of configs/models/kernels.yaml, which is read once. Throws ConfigError.
const KernelConstants& nominal_constants();

}  // namespace dlscale::model::sheet
