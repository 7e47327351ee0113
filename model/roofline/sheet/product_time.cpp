#include "model/roofline/sheet/product_time.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace dlscale::model::sheet {
namespace {

constexpr double bytes_of_partial = 8;  // f32, written and read
constexpr double flop_per_pair = 2;     // a multiply-add of two operands

double memory_rate(const Arithmetic& on, const KernelConstants& constants) {
  return constants.memory_efficiency * on.bandwidth.si();
}

double sustained_clock(const Arithmetic& on, const KernelConstants& constants) {
  const double sharpness = constants.load_exponent;
  const double load = std::pow(on.board_load, sharpness);
  return std::pow(on.base_clock, 1 - constants.boost_weight) *
         std::pow(on.peak_clock, constants.boost_weight) *
         std::pow(1 + load, -constants.power_weight / sharpness);
}

/// Quantities that all tiles share.
struct Rates {
  Rates(const Product& product, const Arithmetic& on, const KernelConstants& constants)
      : clock(sustained_clock(on, constants)),
        rate(on.flops_per_clock * clock * efficiency(product, on, constants)),
        shared((on.tensor_cores ? constants.tensor_reads : constants.shared_reads) *
               on.flops_per_clock * on.element_bytes / (flop_per_pair * constants.shared_rate)),
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

double depth_of(const Product& product, bool tensor_cores, double grain) {
  if (!tensor_cores || product.kind != ProductKind::convolution) return product.k;
  return product.k / product.channels * std::ceil(product.channels / grain) * grain;
}

/// Seconds of the quickest tiling.
double quickest(const Product& product, const Arithmetic& on, const Rates& rates,
                const KernelConstants& constants) {
  const double depth = depth_of(product, on.tensor_cores, constants.channel_grain);
  double best = std::numeric_limits<double>::infinity();
  for (const Tile tile : constants.tiles) {
    const double blocks =
        product.groups * std::ceil(product.m / tile.rows) * std::ceil(product.n / tile.columns);
    const double flop_time = 2 * tile.rows * tile.columns *
                             (1 + rates.shared * (1 / tile.rows + 1 / tile.columns)) / rates.rate;
    const double without_waste = blocks / on.units * flop_time * depth;
    if (without_waste >= best) continue;
    for (const double split : constants.splits) {
      if (split > 1 && depth / split < constants.least_depth) break;
      const double waves = std::ceil(blocks * split / on.units);
      double time = waves * (flop_time * std::ceil(depth / split) + rates.start);
      if (split > 1) {
        time += bytes_of_partial * product.groups * product.m * product.n *
                std::min(split, constants.partial_sums) / rates.memory;
      }
      best = std::min(best, time);
    }
  }
  return best;
}

/// Seconds of a convolution that loads an operand for each multiply-add.
double direct(const Product& product, const Arithmetic& on, const Rates& rates,
              const KernelConstants& constants) {
  const double loaded = product.flops() / flop_per_pair * on.element_bytes;
  return loaded / (on.units * constants.shared_rate * rates.clock);
}

/// Tiled products with minimal filtering, or with the choice of a library of that age.
double by_best_algorithm(double tiled, const Product& product, bool tensor_cores, double age,
                         const KernelConstants& constants) {
  if (product.kind != ProductKind::convolution) return tiled;
  const double ages = tensor_cores ? constants.old_tensor_ages * age : age;
  const double slowed = tiled / std::pow(constants.old_convolution, ages);
  const bool filtered = product.winograd > 0 && !tensor_cores;
  return filtered ? std::min(slowed, tiled / product.winograd) : slowed;
}

}  // namespace

Seconds product_time(const Product& product, const Arithmetic& arithmetic, double age,
                     const KernelConstants& constants) {
  const Rates rates(product, arithmetic, constants);
  const double computing =
      product.kind == ProductKind::direct
          ? direct(product, arithmetic, rates, constants)
          : by_best_algorithm(quickest(product, arithmetic, rates, constants), product,
                              arithmetic.tensor_cores, age, constants);
  const double moving = product.elements * arithmetic.element_bytes / rates.memory;
  const double power = constants.roof_power;
  return Seconds(std::pow(std::pow(computing, power) + std::pow(moving, power), 1 / power));
}

Seconds layout_time(const Product& product, const Arithmetic& arithmetic,
                    const KernelConstants& constants) {
  if (product.kind == ProductKind::direct) return {};
  return Seconds(constants.layout_copies * product.activations * arithmetic.element_bytes /
                 memory_rate(arithmetic, constants));
}

}  // namespace dlscale::model::sheet
