#pragma once
#include "model/parallel/time/constants.hpp"
#include "model/parallel/time/device_facts.hpp"
#include "model/parallel/time/passes.hpp"

namespace dlscale::model::parallel_time {

/// Products of matrices in one number format, on one device.
struct ProductRate {
  double peak = 1;           ///< flop/s of the format
  double share = 1;          ///< e of it in the inner loop
  double start = 0;          ///< K0, in elements of the depth
  double operand_bytes = 2;  ///< an element that is read
  double result_bytes = 2;   ///< an element that is written
};

/// Rates of a device that all parts of a training share, so that plans repeat none of this.
///   power   min(1, ((TDP / P16 in pJ a flop) / (joules (nm / 4)^process))^power)
///   e       min(greatest_share, product (P / bandwidth / 153)^-ridge · power · few · other)
///   K0      tile_start (P_own / (SM f) / 2048)^tile_start_power
/// few: 1, or eight_bits or four_bits; other: other_makers without CUDA, else 1; P: peak of 16 bits
/// (of f32 and tf32 in those formats). [derived; few and other from few products]
struct DeviceRates {
  DeviceFacts facts = {};
  Precision precision = Precision::half;
  double power = 1;
  double memory = 1;          ///< bytes/s: memory · bandwidth
  double element_bytes = 2;   ///< of activations: 4 in f32 and tf32
  double relative_flops = 1;  ///< F: 16-bit flop a clock and multiprocessor over 2048
  ProductRate layer = {};     ///< products within layers
  ProductRate whole = {};     ///< the head and attention scores
  [[nodiscard]] bool has_few_bits() const { return precision >= Precision::eight_bits; }
};
DeviceRates device_rates(const DeviceFacts& facts, Precision precision,
                         const TimeConstants& constants);

/// Seconds of `count` products of m × k and k × n elements at once:
///   t_c   min over tiles (a × b, q) and parts s of the depth of
///         ⌈count ⌈m/a⌉ ⌈n/b⌉ s / SM⌉ SM a b 2 (k / s + K0) / (peak e q) + [s > 1] 8 count m n s /
///         M
///   t_m   count (operand (m k + n k) + result m n) / M;    t = (t_c⁴ + t_m⁴)^¼
/// Depths are split only where tiles leave multiprocessors idle, into parts of at least 1,024.
/// Requires numbers > 0. [derived; tiles: names of kernels of cuBLAS and CUTLASS]
double product_time(const DeviceRates& rates, const ProductRate& rate, double m, double n, double k,
                    double count = 1);

/// A linear layer of m tokens, n results and k inputs: m n k forward, m k n and n k m backward.
PassTime linear_time(const DeviceRates& rates, const ProductRate& rate, double m, double n,
                     double k, double count = 1);

}  // namespace dlscale::model::parallel_time
