#include "model/roofline/sheet/product_time.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::sheet {
namespace {

/// A GPU of round numbers: 100 units of 256 flop a clock at 1 GHz, memory of 1 TB/s.
Arithmetic round_gpu() {
  Arithmetic gpu;
  gpu.units = 100;
  gpu.flops_per_clock = 256;
  gpu.base_clock = gpu.peak_clock = 1e9;
  gpu.bandwidth = BytesPerSecond(1e12);
  return gpu;
}

Product square(double size) {
  Product product;
  product.m = product.n = product.k = product.channels = size;
  product.elements = 3 * size * size;
  return product;
}

/// A GPU loses by tiles and shared memory alone.
KernelConstants ideal() {
  KernelConstants constants = nominal_constants();
  for (const ConstantKey& one : fitted_constants()) constants.*one.value = 1;
  constants.roof_power = 10;  // nearly the maximum of both
  constants.shared_reads = constants.tensor_reads = 2;
  constants.tile_start = 1000;
  constants.strided_data = 0.5;
  return constants;
}

double time(const Product& product, const Arithmetic& on, const KernelConstants& constants,
            double age = 0) {
  return product_time(product, on, age, constants).si();
}

TEST(ProductTime, IsThatOfWholeWavesOfTiles) {
  // 50 × 100 tiles of 256 × 128 on 100 units: 50 waves. Shared memory adds 2 · 256 · 4 ·
  // (1/256 + 1/128) / 256, and a tile has 1000 clocks to begin.
  const double shared = 1 + 2 * 256 * 4 * (1 / 256.0 + 1 / 128.0) / 256;
  const double tile = 2 * 256 * 128 * 12800.0 / 256e9 * shared + 1e-6;
  EXPECT_NEAR(time(square(12800), round_gpu(), ideal()), 50 * tile, 1e-9);
  // Four more columns are four more waves, of half as many tiles each.
  Product wider = square(12800);
  wider.n += 4;
  EXPECT_GT(time(wider, round_gpu(), ideal()), 50.4 * tile);
}

TEST(ProductTime, SplitsTheDepthOfAProductOfFewTiles) {
  Product deep = square(128);
  deep.k = deep.channels = 1e6;
  const double alone = 2 * 32.0 * 32 * 1e6 / 256e9;  // on 16 of the 100 units
  EXPECT_LT(time(deep, round_gpu(), ideal()), alone / 2);
}

TEST(ProductTime, IsThatOfItsBytesWhereMemoryHoldsItBack) {
  Product thin = square(1e5);
  thin.k = thin.channels = 1;
  thin.elements = 1e10;
  const double moved = thin.elements * 4 / 1e12;
  EXPECT_NEAR(time(thin, round_gpu(), ideal()), moved, 0.02 * moved);
}

TEST(ProductTime, RisesWithEverySizeAndFallsWithEveryRate) {
  const KernelConstants& constants = nominal_constants();
  for (double size = 32; size < 1e4; size *= 1.7) {
    const double base = time(square(size), round_gpu(), constants);
    EXPECT_GT(base, 0);
    for (double Product::*dimension : {&Product::m, &Product::n}) {
      Product larger = square(size);
      larger.*dimension *= 2;
      larger.elements *= 5.0 / 3;
      EXPECT_GE(time(larger, round_gpu(), constants), base) << size;
    }
    Arithmetic faster = round_gpu();
    faster.flops_per_clock *= 2;
    EXPECT_LT(time(square(size), faster, constants), base);
    faster = round_gpu();
    faster.bandwidth = 2 * faster.bandwidth;
    EXPECT_LT(time(square(size), faster, constants), base);
    faster = round_gpu();
    faster.units *= 2;
    EXPECT_LE(time(square(size), faster, constants), base);
  }
}

TEST(ProductTime, NeverBeatsTheDataSheet) {
  const KernelConstants& constants = nominal_constants();
  for (const bool tensor : {false, true}) {
    Arithmetic gpu = round_gpu();
    gpu.tensor_cores = tensor;
    for (const auto kind : {ProductKind::linear, ProductKind::convolution}) {
      for (double size = 8; size < 1e5; size *= 1.3) {
        Product product = square(size);
        product.kind = kind;
        const double compute = product.flops() / (gpu.units * gpu.flops_per_clock * 1e9);
        EXPECT_GT(time(product, gpu, constants), compute) << size;
        EXPECT_GT(time(product, gpu, constants), product.elements * 4 / 1e12) << size;
      }
    }
  }
}

TEST(ProductTime, OfConvolutionsPaysForOldLibraries) {
  const KernelConstants& constants = nominal_constants();
  for (const bool tensor : {false, true}) {
    Arithmetic gpu = round_gpu();
    gpu.tensor_cores = tensor;
    Product product = square(2048);
    EXPECT_EQ(time(product, gpu, constants, 1), time(product, gpu, constants));
    product.kind = ProductKind::convolution;
    EXPECT_GT(time(product, gpu, constants, 1), 1.2 * time(product, gpu, constants));
  }
}

TEST(ProductTime, OfLayoutsIsThatOfCopiesOfTheImages) {
  KernelConstants constants = ideal();
  constants.layout_copies = 2;
  Product product = square(2048);
  EXPECT_EQ(layout_time(product, round_gpu(), constants), Seconds());
  product.activations = 1e9;
  EXPECT_NEAR(layout_time(product, round_gpu(), constants).si(), 8e-3, 1e-12);
}

TEST(ProductTime, OfStridedDataGradientsTakesTwiceAsLong) {
  Product product = square(8192);
  product.kind = ProductKind::convolution;
  product.pass = Pass::backward_data;
  const double once = time(product, round_gpu(), ideal());
  product.stride = 2;
  EXPECT_GT(time(product, round_gpu(), ideal()), 1.6 * once);
  product.pass = Pass::forward;
  EXPECT_EQ(time(product, round_gpu(), ideal()), once);
}

TEST(ProductTime, RoundsTheChannelsOfConvolutionsUpForTensorCores) {
  Arithmetic gpu = round_gpu();
  gpu.tensor_cores = true;
  Product product = square(4096);
  product.kind = ProductKind::convolution;
  product.k = 9 * 3;
  product.channels = 3;
  Product rounded = product;
  rounded.k = 9 * 8;
  rounded.channels = 8;
  EXPECT_EQ(time(product, gpu, ideal()), time(rounded, gpu, ideal()));
}

TEST(ProductTime, OfDirectConvolutionsIsThatOfTheirBytes) {
  ConvolutionSizes depthwise{
      .c = 144, .h = 56, .w = 56, .k = 144, .p = 56, .q = 56, .r = 3, .s = 3};
  depthwise.groups = 144;
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    const Product product = convolution_product(depthwise, pass, 64);
    ASSERT_EQ(product.kind, ProductKind::direct);
    const double images = 64.0 * 144 * 56 * 56 * 2;
    const double times = pass == Pass::backward_filter ? 9 : 1;  // a block for each weight
    const double moved = 4 * (times * images + 144 * 9) / 1e12;
    EXPECT_NEAR(time(product, round_gpu(), ideal()), moved, 0.01 * moved);
    EXPECT_EQ(layout_time(product, round_gpu(), ideal()), Seconds());
  }
  // Filters of 31 × 31 load 961 operands for each output.
  depthwise.r = depthwise.s = 31;
  const Product wide = convolution_product(depthwise, Pass::forward, 64);
  const double loaded = 4 * 64.0 * 144 * 56 * 56 * 961 / (100 * 128 * 1e9);
  EXPECT_NEAR(time(wide, round_gpu(), ideal()), loaded, 0.01 * loaded);
}

TEST(ProductTime, FallsWithThePowerThatABoardLeaves) {
  KernelConstants constants = ideal();
  Arithmetic gpu = round_gpu();
  const double whole = time(square(12800), gpu, constants);
  gpu.board_load = 2;  // a half of the peak, nearly
  EXPECT_EQ(time(square(12800), gpu, constants), whole);
  constants.power_weight = 1;
  EXPECT_NEAR(time(square(12800), gpu, constants), std::pow(17, 0.25) * whole, 1e-3 * whole);
}

TEST(ProductTime, FallsByMinimalFilteringOnOrdinaryCoresAlone) {
  const KernelConstants& constants = nominal_constants();
  Product product = square(4096);
  product.kind = ProductKind::convolution;
  Product filtered = product;
  filtered.winograd = 2.25;
  Arithmetic gpu = round_gpu();
  EXPECT_LT(time(filtered, gpu, constants), time(product, gpu, constants));
  gpu.tensor_cores = true;
  EXPECT_EQ(time(filtered, gpu, constants), time(product, gpu, constants));
}

}  // namespace
}  // namespace dlscale::model::sheet
