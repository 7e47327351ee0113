#include "model/roofline/sheet/product_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dlscale::model::sheet {
namespace {

struct Tile {
  double rows;
  double columns;
};

/// Tiles of output that libraries for GPUs have. [CUTLASS, cuBLAS kernel names]
constexpr std::array tiles{Tile{256, 128}, Tile{128, 256}, Tile{128, 128}, Tile{128, 64},
                           Tile{64, 128},  Tile{64, 64},   Tile{128, 32},  Tile{32, 128},
                           Tile{32, 32},   Tile{128, 8}};
constexpr std::array splits{1.0, 4.0, 16.0, 64.0};
constexpr double least_depth = 64;       // of a part of a split depth
constexpr double most_partial_sums = 8;  // written and read
constexpr double bytes_of_partial = 8;   // f32, written and read
constexpr double tensor_grain = 8;       // channels
constexpr double shared_bytes_per_clock = 128;
constexpr double flop_per_pair = 2;  // a multiply-add of two operands

double memory_rate(const Arithmetic& on, const KernelConstants& constants) {
  return constants.memory_efficiency * on.bandwidth.si();
}

/// Quantities that all tiles share.
struct Rates {
  Rates(const Product& product, const Arithmetic& on, const KernelConstants& constants)
      : clock(std::pow(on.base_clock, 1 - constants.boost_weight) *
              std::pow(on.peak_clock, constants.boost_weight)),
        rate(on.flops_per_clock * clock * efficiency(product, on, constants)),
        shared(constants.shared_reads * on.flops_per_clock * on.element_bytes /
               (flop_per_pair * shared_bytes_per_clock)),
        start(constants.tile_start / clock),
        memory(memory_rate(on, constants)) {}

  static double efficiency(const Product& product, const Arithmetic& on,
                           const KernelConstants& constants) {
    double e = on.issue * constants.efficiency;
    if (product.kind != ProductKind::convolution) return e;
    e *= constants.convolution;
    if (product.pass == Pass::backward_filter) e *= constants.weight_gradient;
    if (product.pass == Pass::backward_data && product.stride > 1) e *= constants.strided_data;
    return e;
  }

  double clock;
  double rate;
  double shared;
  double start;
  double memory;
};

double depth_of(const Product& product, bool tensor_cores) {
  if (!tensor_cores || product.kind != ProductKind::convolution) return product.k;
  return product.k / product.channels * std::ceil(product.channels / tensor_grain) * tensor_grain;
}

/// Seconds of the quickest tiling.
double quickest(const Product& product, const Arithmetic& on, const Rates& rates) {
  const double depth = depth_of(product, on.tensor_cores);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile tile : tiles) {
    const double blocks =
        product.groups * std::ceil(product.m / tile.rows) * std::ceil(product.n / tile.columns);
    const double flop_time = 2 * tile.rows * tile.columns *
                             (1 + rates.shared * (1 / tile.rows + 1 / tile.columns)) / rates.rate;
    const double without_waste = blocks / on.units * flop_time * depth;
    if (without_waste >= best) continue;
    for (const double split : splits) {
      if (split > 1 && depth / split < least_depth) break;
      const double waves = std::ceil(blocks * split / on.units);
      double time = waves * (flop_time * std::ceil(depth / split) + rates.start);
      if (split > 1) {
        time += bytes_of_partial * product.groups * product.m * product.n *
                std::min(split, most_partial_sums) / rates.memory;
      }
      best = std::min(best, time);
    }
  }
  return best;
}

/// The same with minimal filtering, or with the choice of a library of that age.
double by_best_algorithm(double direct, const Product& product, bool tensor_cores, double age,
                         const KernelConstants& constants) {
  if (product.kind != ProductKind::convolution) return direct;
  const double old = tensor_cores ? constants.old_tensor_convolution : constants.old_convolution;
  const double slowed = direct / std::pow(old, age);
  const bool filtered = product.winograd > 0 && !tensor_cores;
  return filtered ? std::min(slowed, direct / product.winograd) : slowed;
}

}  // namespace

Seconds product_time(const Product& product, const Arithmetic& arithmetic, double age,
                     const KernelConstants& constants) {
  const Rates rates(product, arithmetic, constants);
  const double computing = by_best_algorithm(quickest(product, arithmetic, rates), product,
                                             arithmetic.tensor_cores, age, constants);
  const double moving = product.elements * arithmetic.element_bytes / rates.memory;
  const double power = constants.roof_power;
  return Seconds(std::pow(std::pow(computing, power) + std::pow(moving, power), 1 / power));
}

Seconds layout_time(const Product& product, const Arithmetic& arithmetic,
                    const KernelConstants& constants) {
  return Seconds(constants.layout_copies * product.activations * arithmetic.element_bytes /
                 memory_rate(arithmetic, constants));
}

}  // namespace dlscale::model::sheet
