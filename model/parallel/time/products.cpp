#include "model/parallel/time/products.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace dlscale::model::parallel_time {
namespace {

struct Tile {
  double rows;
  double columns;
  double quality;  ///< of the inner loop, over that of the largest tile
};
constexpr std::array tiles{Tile{256, 128, 1}, Tile{128, 128, 0.93}, Tile{128, 64, 0.80},
                           Tile{64, 64, 0.62}};
constexpr std::array splits{1.0, 2.0, 4.0};  ///< [derived: split-k in names of kernels]
constexpr double least_part = 1024;          ///< [derived: shorter parts are not worth a sum]
constexpr double partial_bytes = 8;          ///< a partial sum, written and read
constexpr double ampere_flops = 2048;        ///< 16-bit flop a clock and multiprocessor of A100
constexpr double ampere_ridge = 153;         ///< its peak over its bandwidth (80 GB), flop/B
constexpr double four_nm = 4;                ///< to which `joules` refers
constexpr double pico = 1e12;

double power_left(const DeviceFacts& facts, const TimeConstants& constants) {
  if (facts.power_w == 0) return 1;
  const double available = facts.power_w / facts.half_peak * pico;
  const double needed = constants.joules * std::pow(facts.process_nm / four_nm, constants.process);
  return std::min(1.0, std::pow(available / needed, constants.power));
}

double flops_a_clock(const DeviceFacts& facts, double peak) {
  return peak / (facts.multiprocessors * facts.clock) / ampere_flops;
}

}  // namespace

DeviceRates device_rates(const DeviceFacts& facts, Precision precision,
                         const TimeConstants& constants) {
  DeviceRates rates;
  rates.facts = facts;
  rates.precision = precision;
  rates.power = power_left(facts, constants);
  rates.memory = constants.memory * facts.bandwidth;
  rates.relative_flops = flops_a_clock(facts, facts.half_peak);
  const bool is_wide = precision == Precision::f32 || precision == Precision::tf32;
  rates.element_bytes = is_wide ? 4 : 2;
  const double peak = is_wide ? facts.wide_peak : facts.half_peak;
  const double share = constants.product *
                       std::pow(peak / facts.bandwidth / ampere_ridge, -constants.ridge) *
                       rates.power * (facts.capability > 0 ? 1 : constants.other_makers);
  const auto rate = [&](double own_peak, double few, double bytes) {
    return ProductRate{
        own_peak, std::min(constants.greatest_share, few * share),
        constants.tile_start * std::pow(flops_a_clock(facts, own_peak), constants.tile_start_power),
        bytes, rates.element_bytes};
  };
  rates.whole = rate(peak, 1, rates.element_bytes);
  rates.layer = rates.whole;
  const double eight = facts.eight_bit_peak > 0 ? facts.eight_bit_peak : peak;
  if (precision == Precision::eight_bits) rates.layer = rate(eight, constants.eight_bits, 1);
  if (precision == Precision::four_bits) {
    rates.layer =
        rate(facts.four_bit_peak > 0 ? facts.four_bit_peak : eight, constants.four_bits, 0.5);
  }
  return rates;
}

double product_time(const DeviceRates& rates, const ProductRate& rate, double m, double n, double k,
                    double count) {
  const double units = rates.facts.multiprocessors;
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : tiles) {
    const double blocks = count * std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
    const double element =
        units * tile.rows * tile.columns * 2 / (rate.peak * rate.share * tile.quality);
    for (const double split : splits) {
      if (split > 1 && !(blocks < units && k / split >= least_part)) break;
      double time = std::ceil(blocks * split / units) * element * (k / split + rate.start);
      if (split > 1) time += partial_bytes * count * m * n * split / rates.memory;
      best = std::min(best, time);
    }
  }
  const double bytes =
      count * (rate.operand_bytes * (m * k + n * k) + rate.result_bytes * m * n) / rates.memory;
  const double computing = best * best;
  const double moving = bytes * bytes;
  return std::sqrt(std::sqrt(computing * computing + moving * moving));
}

PassTime linear_time(const DeviceRates& rates, const ProductRate& rate, double m, double n,
                     double k, double count) {
  return {product_time(rates, rate, m, n, k, count),
          product_time(rates, rate, m, k, n, count) + product_time(rates, rate, n, k, m, count)};
}

}  // namespace dlscale::model::parallel_time
