#include <gtest/gtest.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "core/convolution/method.hpp"
#include "core/convolution/pixel_blocks.hpp"
#include "core/convolution/spectra.hpp"
#include "core/convolution/tile_blocks.hpp"
#include "core/convolution/work.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/gemm.hpp"

namespace dlscale::convolution {
namespace {

constexpr std::array each_pass{Pass::forward, Pass::backward_data, Pass::backward_filter};

ConvolutionShape shape_at(std::string_view key, int batch) {
  return parse_convolution_key(key, batch)->shape;
}

const Stage& stage(const AlgorithmWork& work, std::string_view name) {
  for (const Stage& each : work.stages) {
    if (each.name == name) return each;
  }
  throw std::out_of_range(std::string(name));
}

double products_flops(const AlgorithmWork& work) {
  return stage(work, "product").flops.si();
}

// ------------------------------------------------------------------------- --- known counts

TEST(DirectWork, IsTheNumberOfTheConvnetBenchmarks) {
  // L1 … L5 of convnet-benchmarks, forward, stride 1, no pad, in GFLOP   [checks.csv C093–C097]
  const std::pair<const char*, double> layers[] = {
      {"convolution c3 h128 w128 k96 r11 s11 stride1 pad0 groups1", 124.217},
      {"convolution c64 h64 w64 k128 r9 s9 stride1 pad0 groups1", 532.710},
      {"convolution c128 h32 w32 k128 r9 s9 stride1 pad0 groups1", 195.689},
      {"convolution c128 h16 w16 k128 r7 s7 stride1 pad0 groups1", 20.552},
      {"convolution c384 h13 w13 k384 r3 s3 stride1 pad0 groups1", 41.108}};
  for (const auto& [key, gflop] : layers) {
    const AlgorithmWork work = algorithm_work(Method::direct, shape_at(key, 128), Pass::forward);
    EXPECT_NEAR(work.flops().si() * 1e-9, gflop, 1e-3 * gflop) << key;
    EXPECT_EQ(work.workspace, Bytes(0));
  }
  // A published one: 3 x 3, pad 1, batch 8   [checks.csv C103]
  EXPECT_NEAR(
      direct_flops(shape_at("convolution c64 h112 w112 k128 r3 s3 stride1 pad1 groups1", 8)).si(),
      14.7975e9, 1e5);
}

TEST(WinogradWork, MultipliesLessByWhatThePaperSays) {
  // (m r / α)² where tiles fit the outputs exactly   [Lavin & Gray 2015]
  const ConvolutionShape shape =
      shape_at("convolution c64 h48 w48 k64 r3 s3 stride1 pad1 groups1", 4);
  const double direct = direct_flops(shape).si();
  const std::pair<Method, double> reductions[] = {
      {Method::winograd_f2, 2.25}, {Method::winograd_f4, 4.0}, {Method::winograd_f6, 5.0625}};
  for (const auto& [method, reduction] : reductions) {
    for (const Pass pass : each_pass) {
      const double done = products_flops(algorithm_work(method, shape, pass));
      EXPECT_NEAR(direct / done, reduction, 1e-12) << method_name(method) << pass_name(pass);
    }
  }
}

TEST(WinogradWork, TransformsAsManyTilesAndFiltersAsThePaperSays) {
  // F(2,3) 32 / 28 / 24 and F(4,3) 144 / 72 / 100 a tile or filter   [checks.csv C105, C107]
  const ConvolutionShape shape = shape_at("convolution c5 h9 w7 k3 r3 s3 stride1 pad1 groups1", 2);
  const WorkSetting whole{.blocking = Blocking::whole};
  const AlgorithmWork f2 = algorithm_work(Method::winograd_f2, shape, Pass::forward, whole);
  const double tiles2 = 2 * 5 * 4;
  EXPECT_EQ(stage(f2, "input transform").flops.si(), 32 * 5 * tiles2);
  EXPECT_EQ(stage(f2, "filter transform").flops.si(), 28 * 5 * 3);
  EXPECT_EQ(stage(f2, "output transform").flops.si(), 24 * 3 * tiles2);
  EXPECT_EQ(f2.workspace.si(), 4 * 16 * (tiles2 * 5 + 15 + tiles2 * 3));
  const AlgorithmWork f4 = algorithm_work(Method::winograd_f4, shape, Pass::forward, whole);
  const double tiles4 = 2 * 3 * 2;
  EXPECT_EQ(stage(f4, "input transform").flops.si(), 144 * 5 * tiles4);
  EXPECT_EQ(stage(f4, "filter transform").flops.si(), 72 * 5 * 3);
  EXPECT_EQ(stage(f4, "output transform").flops.si(), 100 * 3 * tiles4);
}

TEST(WinogradWork, NeedsFewerOperationsInTotalByThesePublishedRatios) {
  // Direct over Winograd with transforms, batch 64   [derived by hand]
  const WorkSetting whole{.blocking = Blocking::whole};
  const auto ratio = [&](const char* key, Method method) {
    const ConvolutionShape shape = shape_at(key, 64);
    return direct_flops(shape).si() /
           algorithm_work(method, shape, Pass::forward, whole).flops().si();
  };
  const char* conv1_2 = "convolution c64 h224 w224 k64 r3 s3 stride1 pad1 groups1";
  EXPECT_NEAR(ratio(conv1_2, Method::winograd_f2), 2.19, 5e-3);
  EXPECT_NEAR(ratio(conv1_2, Method::winograd_f4), 3.80, 5e-3);
  const char* res5b = "convolution c512 h7 w7 k512 r3 s3 stride1 pad1 groups1";
  EXPECT_NEAR(ratio(res5b, Method::winograd_f2), 1.72, 5e-3);
  EXPECT_NEAR(ratio(res5b, Method::winograd_f4), 3.03, 5e-3);
}

TEST(TileRuns, EndWithRowsAndBlocks) {
  const TileGrid grid{3, 20};  // of two images: 6 rows of 20 tiles
  const auto runs = [&](Index block, Index lanes) {
    const auto [count, vectors] = tile_runs(grid, Blocks(120, block, 1, 1), lanes);
    return std::pair(count, vectors);
  };
  EXPECT_EQ(runs(120, 16), std::pair(Index{6}, Index{12}));
  EXPECT_EQ(runs(120, 1), std::pair(Index{6}, Index{120}));
  EXPECT_EQ(runs(40, 16), std::pair(Index{6}, Index{12}));
  EXPECT_EQ(runs(30, 16), std::pair(Index{8}, Index{12}));  // 20, 10 | 10, 20 | …
}

TEST(WinogradWork, FillsVectorsWithTheTilesOfARow) {
  // Rows of 7 tiles take as long as of 16, but for the 2 columns that a row has before the 4 of
  // each of its tiles; filters lie side by side for all 5 channels.
  const ConvolutionShape shape =
      shape_at("convolution c5 h28 w28 k3 r3 s3 stride1 pad1 groups1", 2);
  const AlgorithmWork work =
      algorithm_work(Method::winograd_f4, shape, Pass::forward, {.vector_floats = 16});
  const Stage& input = stage(work, "input transform");
  EXPECT_DOUBLE_EQ(input.vector_flops / input.flops, (2 + 16 * (4 + 6)) / (2 + 7 * (4 + 6.0)));
  EXPECT_EQ(input.runs, 5 * 2 * 7);
  const Stage& filter = stage(work, "filter transform");
  EXPECT_DOUBLE_EQ(filter.vector_flops / filter.flops, 16.0 / 5);
  EXPECT_EQ(filter.runs, 3);
  const AlgorithmWork narrow =
      algorithm_work(Method::winograd_f4, shape, Pass::forward, {.vector_floats = 1});
  for (const char* name : {"filter transform", "input transform", "output transform"}) {
    EXPECT_EQ(stage(narrow, name).vector_flops, stage(narrow, name).flops) << name;
  }
}

TEST(WinogradWork, TransformsAColumnThatNeighboursShareOnce) {
  // A row of 7 tiles of F(4 × 4): 30 columns, 42 rows of tiles, of 22 operations a line of 6.
  const ConvolutionShape shape =
      shape_at("convolution c5 h28 w28 k3 r3 s3 stride1 pad1 groups1", 2);
  const AlgorithmWork work = algorithm_work(Method::winograd_f4, shape, Pass::forward);
  EXPECT_EQ(stage(work, "input transform").flops.si(), 5 * 2 * 7 * (30 + 42) * 22);
  const AlgorithmWork gradient = algorithm_work(Method::winograd_f4, shape, Pass::backward_filter);
  EXPECT_EQ(stage(gradient, "input transform").flops, stage(work, "input transform").flops);
}

TEST(FilterGradient, IsReadWhereProductsAreAddedToIt) {
  // Sums of so many elements each; the first product of each only writes it.
  const char* key = "convolution c512 h28 w28 k512 r3 s3 stride1 pad1 groups1";
  const ConvolutionShape shape = shape_at(key, 8);
  const struct {
    Method method;
    double elements;
  } cases[]{{Method::im2col, 512 * 9 * 512.0},
            {Method::winograd_f4, 36 * 512 * 512.0},
            {Method::winograd_f4_fused, 36 * 512 * 512.0}};
  for (const auto& [method, elements] : cases) {
    const AlgorithmWork work = algorithm_work(method, shape, Pass::backward_filter);
    double moved = 0, written = 0;
    for (const auto& [m, n, k, count] : stage(work, "product").products) {
      moved += (m * k + k * n + m * n) * count;
      written += m * n * count;
    }
    EXPECT_GT(written, elements) << method_name(method);
    EXPECT_DOUBLE_EQ(stage(work, "product").bytes.si(), 4 * (moved + written - elements))
        << method_name(method);
  }
}

TEST(SpectralWork, MovesWhatItsTrafficCounts) {
  const ConvolutionShape shape =
      shape_at("convolution c4096 h28 w28 k4096 r5 s5 stride1 pad2 groups1", 2048);
  for (const Pass pass : each_pass) {
    const AlgorithmWork work = algorithm_work(Method::fft, shape, pass);
    const SpectralSizes sizes = spectral_sizes(shape, pass, points_for_whole(shape), Tiling::whole);
    const SpectralBlocks blocks = choose_blocks(sizes, 16, spectra_limit_bytes);
    EXPECT_LT(blocks.q, sizes.q);  // sums over blocks
    // Each complex product is two real ones of twice the depth: operands twice each.
    const double results = static_cast<double>(sizes.i * sizes.j);
    const auto of_q = static_cast<double>((sizes.q + blocks.q - 1) / blocks.q);
    const double moved = static_cast<double>(spectral_traffic(sizes, blocks).moved);
    const double points = static_cast<double>(frequencies(sizes.L));
    EXPECT_DOUBLE_EQ(stage(work, "product").bytes.si(),
                     4 * points * (4 * moved - 2 * results * (2 * of_q - 1)))
        << pass_name(pass);
  }
}

TEST(SpectralWork, FillsVectorsWithPlanesAndSkipsRowsOfZeros) {
  // 16 × 16 points: 3 rows of filters, so 4 as they go in pairs; 12 of images; 9 columns of 16.
  const ConvolutionShape shape =
      shape_at("convolution c32 h12 w12 k48 r3 s3 stride1 pad1 groups1", 4);
  const AlgorithmWork work =
      algorithm_work(Method::fft, shape, Pass::forward, {.vector_floats = 16});
  const double half = 0.5 * transform_flops(16);
  const Stage& filters = stage(work, "transform of Â");
  EXPECT_DOUBLE_EQ(filters.vector_flops.si(), 32 * 48 * half * (4.0 + 18) / 16);
  EXPECT_EQ(filters.runs, 32 * 3);
  const Stage& images = stage(work, "transform of B̂");
  EXPECT_DOUBLE_EQ(images.vector_flops.si(), 32 * 16 * half * (12.0 + 18) / 16);  // 4 of 16 lanes
  EXPECT_EQ(images.runs, 32);
  EXPECT_EQ(stage(work, "rotated spectra").bytes.si(), 4 * 2 * 2 * 32 * 48 * 16 * 9);
}

TEST(Im2colWork, CopiesRowByRowAndWithAStrideOneByOne) {
  const char* padded = "convolution c6 h20 w20 k8 r3 s3 stride1 pad1 groups1";
  const AlgorithmWork near = algorithm_work(Method::im2col, shape_at(padded, 1), Pass::forward);
  EXPECT_EQ(stage(near, "patches").runs, 6 * 9 * 20);
  EXPECT_EQ(stage(near, "patches").gathered, 0);
  const char* strided = "convolution c6 h20 w20 k8 r3 s3 stride2 pad1 groups1";
  const AlgorithmWork far = algorithm_work(Method::im2col, shape_at(strided, 1), Pass::forward);
  EXPECT_EQ(stage(far, "patches").runs, 6 * 9 * 10);
  EXPECT_EQ(stage(far, "patches").gathered, 6 * 9 * 10 * 10);
}

TEST(WinogradWork, FusedIsTheSameInSmallerPieces) {
  const ConvolutionShape shape =
      shape_at("convolution c64 h112 w112 k64 r3 s3 stride1 pad1 groups1", 8);
  for (const Pass pass : each_pass) {
    const AlgorithmWork staged = algorithm_work(Method::winograd_f4, shape, pass);
    const AlgorithmWork fused = algorithm_work(Method::winograd_f4_fused, shape, pass);
    EXPECT_DOUBLE_EQ(products_flops(fused), products_flops(staged)) << pass_name(pass);
    // Rows of tiles that blocks cut have their first columns again.
    EXPECT_GE(fused.flops(), staged.flops()) << pass_name(pass);
    EXPECT_LT(fused.flops(), 1.01 * staged.flops()) << pass_name(pass);
    EXPECT_GT(fused.bytes(), staged.bytes()) << pass_name(pass);  // filters, again for each block
    EXPECT_LT(stage(fused, "input transform").working_set.si(), 1 << 20) << pass_name(pass);
    EXPECT_GT(stage(staged, "input transform").working_set.si(), 1 << 20) << pass_name(pass);
  }
}

TEST(SpectralWork, IsTransformsAndComplexProducts) {
  // 2.5 L² lg L² (NC + KC + NK) + 8 L (L/2 + 1) N C K
  const ConvolutionShape shape =
      shape_at("convolution c3 h13 w13 k5 r5 s5 stride1 pad1 groups1", 2);
  const double L = 16;
  const double transforms = 2.5 * L * L * 8 * (6 + 15 + 10);
  const double products = 8 * L * (L / 2 + 1) * 30;
  for (const Pass pass : each_pass) {
    const AlgorithmWork work =
        algorithm_work(Method::fft, shape, pass, {.blocking = Blocking::whole});
    EXPECT_DOUBLE_EQ(work.flops().si(), transforms + products) << pass_name(pass);
    EXPECT_EQ(work.workspace.si(), 8 * L * (L / 2 + 1) * (6 + 15 + 10));
  }
}

TEST(SpectralWork, OfOursIsWhatIsExecuted) {
  // Lines of 16 points: 8 butterflies of 16 operations, 9 twiddles of 6; two rows of 12 or 4 to a
  // line, told apart by 8 operations a point of half a spectrum; 9 columns.
  const double line = 8 * 16 + 9 * 6;
  EXPECT_EQ(line_flops(16), line);
  EXPECT_EQ(line_flops(8), 56);  // as in any textbook: 52 additions, 4 products
  const ConvolutionShape shape =
      shape_at("convolution c32 h12 w12 k48 r3 s3 stride1 pad1 groups1", 4);
  const AlgorithmWork work = algorithm_work(Method::fft, shape, Pass::forward);
  EXPECT_EQ(stage(work, "transform of Â").flops.si(), 32 * 48 * (2 * (line + 72) + 9 * line));
  EXPECT_EQ(stage(work, "transform of B̂").flops.si(), 32 * 4 * (6 * (line + 72) + 9 * line));
  EXPECT_EQ(stage(work, "inverse transform").flops.si(), 48 * 4 * (6 * (line + 64) + 9 * line));
}

TEST(SpectralWork, OfOneBlockMultipliesAsThePaperAndTransformsInLess) {
  const ConvolutionShape shape =
      shape_at("convolution c32 h27 w27 k48 r5 s5 stride1 pad2 groups1", 4);
  for (const Method method : {Method::fft, Method::fft_tiled}) {
    for (const Pass pass : each_pass) {
      const AlgorithmWork ours = algorithm_work(method, shape, pass);
      const AlgorithmWork paper =
          algorithm_work(method, shape, pass, {.blocking = Blocking::whole});
      EXPECT_DOUBLE_EQ(products_flops(ours), products_flops(paper));
      for (const char* name : {"transform of Â", "transform of B̂", "inverse transform"}) {
        EXPECT_LT(stage(ours, name).flops, stage(paper, name).flops) << name;
        EXPECT_GT(stage(ours, name).flops, 0.3 * stage(paper, name).flops) << name;
      }
    }
  }
}

TEST(Im2colWork, MultipliesAsMuchAsTheDirectConvolution) {
  for (const char* key : {"convolution c16 h20 w20 k24 r3 s3 stride1 pad1 groups1",
                          "convolution c16 h20 w20 k24 r3 s3 stride2 pad1 groups2",
                          "convolution c16 h20 w20 k24 r1 s1 stride1 pad0 groups1",
                          "convolution c256 h6 w6 k24 r5 s3 stride1 pad2 groups1"}) {
    const ConvolutionShape shape = shape_at(key, 5);
    for (const Pass pass : each_pass) {
      EXPECT_DOUBLE_EQ(products_flops(algorithm_work(Method::im2col, shape, pass)),
                       direct_flops(shape).si())
          << key << " " << pass_name(pass);
    }
  }
}

TEST(Im2colWork, WritesNoPatchesOfOneByOneFilters) {
  const ConvolutionShape pointwise =
      shape_at("convolution c64 h56 w56 k64 r1 s1 stride1 pad0 groups1", 1);
  EXPECT_EQ(algorithm_work(Method::im2col, pointwise, Pass::forward).stages.size(), 1);
  // 7 x 7 pixels: our blocks have several images, which are gathered; a library's have not.
  const auto small = shape_at("convolution c512 h7 w7 k256 r1 s1 stride1 pad0 groups1", 8);
  for (const Pass pass : each_pass) {
    const bool back = pass == Pass::backward_data;
    const AlgorithmWork library =
        algorithm_work(Method::im2col, small, pass, {.blocking = Blocking::whole});
    ASSERT_EQ(library.stages.size(), 1) << pass_name(pass);
    EXPECT_EQ(library.bytes(), least_bytes(small)) << pass_name(pass);
    EXPECT_EQ(library.workspace, Bytes()) << pass_name(pass);
    const AlgorithmWork ours = algorithm_work(Method::im2col, small, pass);
    EXPECT_EQ(stage(ours, back ? "patches back" : "patches").bytes.si(),
              4 * (back ? 4.0 : 2.0) * 512 * 49 * 8);
  }
  const ConvolutionShape padded =
      shape_at("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1", 1);
  const AlgorithmWork work = algorithm_work(Method::im2col, padded, Pass::forward);
  const double matrix = 64.0 * 9 * 56 * 56;
  EXPECT_EQ(stage(work, "patches").bytes.si(), 4 * (matrix + 64 * 56 * 56));
}

TEST(DeviceWork, TransformsMoreThanThePaperAndMultipliesAsMuch) {
  const ConvolutionShape shape =
      shape_at("convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1", 32);
  for (const Pass pass : each_pass) {
    const auto with = [&](Method method, Blocking blocking) {
      return algorithm_work(method, shape, pass, {.blocking = blocking});
    };
    for (const Method method : {Method::winograd_f2, Method::winograd_f4}) {
      const AlgorithmWork device = with(method, Blocking::device);
      const AlgorithmWork paper = with(method, Blocking::whole);
      EXPECT_DOUBLE_EQ(products_flops(device), products_flops(paper));
      EXPECT_GT(device.flops(), paper.flops()) << method_name(method) << pass_name(pass);
      EXPECT_EQ(device.workspace, paper.workspace) << "one block";
    }
    // 57 points are 64 on a processor and 60 on a GPU.
    EXPECT_LT(with(Method::fft, Blocking::device).flops(),
              with(Method::fft, Blocking::whole).flops());
    EXPECT_GT(with(Method::fft_tiled, Blocking::device).bytes(),
              with(Method::fft_tiled, Blocking::whole).bytes())
        << "planes and spectra are moved by kernels of their own";
  }
}

TEST(DeviceWork, HasTransformsOfTheSizesThatCufftIsFastestFor) {
  const auto points = [](int size) {
    return points_for_whole_on_device({.height = size, .width = 3});
  };
  EXPECT_EQ(points(1), 4);
  EXPECT_EQ(points(5), 6);
  EXPECT_EQ(points(11), 12);
  EXPECT_EQ(points(57), 60);
  EXPECT_EQ(points(113), 120);
  EXPECT_EQ(points(226), 240);
  EXPECT_EQ(points(256), 256);
}

TEST(DeviceWork, IsThatOfTheBackendsCuda) {
  EXPECT_EQ(blocking_of("cuda"), Blocking::device);
  EXPECT_EQ(blocking_of("cuda_nchw"), Blocking::device);
  EXPECT_EQ(blocking_of("native"), Blocking::ours);
  EXPECT_EQ(blocking_of("onednn"), Blocking::whole);
}

TEST(DeviceWork, IsOfShapesThatGpusAreOffered) {
  const ConvolutionShape wide = shape_at("convolution c8 h9 w9 k8 r3 s3 stride1 pad3 groups1", 1);
  EXPECT_NE(refusal(Method::winograd_f4, wide), "");
  EXPECT_EQ(refusal(Method::winograd_f4, wide, Blocking::device), "");
  EXPECT_NE(refusal(Method::winograd_f6, wide, Blocking::device), "");
  EXPECT_NE(refusal(Method::im2col, wide, Blocking::device), "");
  const ConvolutionShape many =
      shape_at("convolution c64 h9 w9 k64 r3 s3 stride1 pad1 groups64", 1);
  EXPECT_NE(refusal(Method::winograd_f4, many, Blocking::device), "");
  EXPECT_EQ(refusal(Method::winograd_f4, many), "");
}

TEST(EvenBlocks, CoverAllTilesWithinTheLimit) {
  for (const Index tiles : {1, 5, 64, 1000, 12345}) {
    for (const Index unit : {1, 4}) {
      const EvenBlocks blocks = even_blocks(tiles, 1000, unit, 100000);
      EXPECT_GE(blocks.size * blocks.count, tiles);
      EXPECT_LT(blocks.size * (blocks.count - 1), tiles);
      EXPECT_LE(blocks.size, 100 + unit);
      EXPECT_EQ(blocks.size % unit, 0);
    }
  }
  EXPECT_EQ(even_blocks(9, 1000, 4, 1).size, 4) << "less would leave nothing to run";
}

// --------------------------------------------------------------------------------- lowered
// products

TEST(LoweredProducts, AreThoseThatTheWorkOfIm2colCounts) {
  for (const char* key : {"convolution c512 h28 w28 k512 r3 s3 stride1 pad1 groups1",
                          "convolution c48 h27 w27 k128 r5 s5 stride1 pad2 groups2",
                          "convolution c512 h7 w7 k2048 r1 s1 stride1 pad0 groups1",
                          "convolution c3 h224 w224 k64 r3 s3 stride1 pad1 groups1"}) {
    for (const int batch : {1, 4, 33}) {
      const ConvolutionShape shape = shape_at(key, batch);
      for (const Pass pass : each_pass) {
        double flops = 0;
        double count = 0;
        for (const LoweredProduct& product : lowered_products(shape, pass)) {
          flops += static_cast<double>(product.count) * work(product.shape, DType::f32).flops.si();
          count += static_cast<double>(product.count);
        }
        EXPECT_DOUBLE_EQ(flops, direct_flops(shape).si()) << key;
        double counted = 0;
        const AlgorithmWork im2col = algorithm_work(Method::im2col, shape, pass);
        for (const Products& products : stage(im2col, "product").products) {
          counted += products.count;
        }
        EXPECT_EQ(count, counted) << key;
      }
    }
  }
}

TEST(LoweredProducts, AreOfBlocksTheLargestFirst) {
  // 4 MiB of 4608 patches are 227 columns: 8 rows of 28 pixels, then the 4 that are left.
  const ConvolutionShape shape =
      shape_at("convolution c512 h28 w28 k512 r3 s3 stride1 pad1 groups1", 4);
  const auto forward = lowered_products(shape, Pass::forward);
  ASSERT_EQ(forward.size(), 2U);
  EXPECT_EQ(forward[0].shape, (GemmShape{512, 224, 4608}));
  EXPECT_EQ(forward[0].count, 12);
  EXPECT_EQ(forward[1].shape, (GemmShape{512, 112, 4608}));
  EXPECT_EQ(forward[1].count, 4);
  EXPECT_EQ(lowered_products(shape, Pass::backward_data)[0].shape,
            (GemmShape{4608, 224, 512, true, false}));
  EXPECT_EQ(lowered_products(shape, Pass::backward_filter)[0].shape,
            (GemmShape{512, 4608, 224, false, true}));
  EXPECT_EQ(whole_product(shape, Pass::backward_filter),
            (GemmShape{512, 4608, 4 * 784, false, true}));
}

TEST(Method, ByALibraryDoesTheSameWithOtherTransforms) {
  EXPECT_EQ(vector_floats("fft_fftw 32x32 fftw-3.3.10-sse2-avx+gemm"), max_transform_batch);
  const ConvolutionShape shape =
      shape_at("convolution c96 h27 w27 k256 r5 s5 stride1 pad2 groups2", 4);
  for (const auto& [own, library] : {std::pair(Method::fft, Method::fft_fftw),
                                     std::pair(Method::fft_tiled, Method::fft_tiled_mkl)}) {
    EXPECT_FALSE(by_library(own));
    EXPECT_TRUE(by_library(library));
    for (const Pass pass : each_pass) {
      const AlgorithmWork ours = algorithm_work(own, shape, pass);
      const AlgorithmWork theirs = algorithm_work(library, shape, pass);
      EXPECT_EQ(products_flops(ours), products_flops(theirs));
      EXPECT_EQ(ours.bytes(), theirs.bytes());
      // The nominal count, and all rows: more than ours execute, which skip those of zeros.
      EXPECT_LT(ours.flops(), theirs.flops());
      EXPECT_LT(stage(ours, "transform of Â").vector_flops,
                stage(theirs, "transform of Â").vector_flops);
    }
    EXPECT_EQ(algorithm_work(library, shape, Pass::forward, {.blocking = Blocking::whole}).flops(),
              algorithm_work(own, shape, Pass::forward, {.blocking = Blocking::whole}).flops());
    EXPECT_NE(refusal(library, shape, Blocking::device), "");
  }
}

TEST(AlgorithmWork, HasAPassMoreForBiasAndFusedReLU) {
  const auto found =
      parse_convolution_key("convolution c8 h8 w8 k8 r3 s3 stride1 pad1 groups1 bias relu", 2);
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->bias && found->relu);
  const double outputs = 2 * 8 * 8 * 8;
  const auto more = [&](Pass pass, bool bias, bool relu) {
    const auto with =
        algorithm_work(Method::im2col, found->shape, pass, {.bias = bias, .relu = relu});
    return (with.bytes() - algorithm_work(Method::im2col, found->shape, pass).bytes()).si() /
           (4 * outputs);
  };
  EXPECT_EQ(more(Pass::forward, true, false), 2);
  EXPECT_EQ(more(Pass::forward, true, true), 2);
  EXPECT_EQ(more(Pass::forward, false, true), 2);
  EXPECT_EQ(more(Pass::backward_filter, true, true), 4);
  EXPECT_EQ(more(Pass::backward_data, true, true), 0);
}

TEST(AlgorithmWork, GrowsWithTheBatchInEveryMethodAndPass) {
  for (const Method method : all_methods()) {
    for (const Pass pass : each_pass) {
      Flops before;
      for (const int batch : {1, 2, 3, 8, 32}) {
        const ConvolutionShape shape =
            shape_at("convolution c48 h13 w13 k64 r3 s3 stride1 pad1 groups2 bias", batch);
        // The tiles of fft_tiled are chosen by the nominal count: what ours execute may fall.
        const Blocking blocking = method == Method::fft_tiled ? Blocking::whole : Blocking::ours;
        const AlgorithmWork work =
            algorithm_work(method, shape, pass, {.blocking = blocking, .bias = true});
        EXPECT_GT(work.flops(), before) << method_name(method) << " " << batch;
        before = work.flops();
        for (const Stage& each : work.stages) {
          EXPECT_GE(each.flops.si(), 0) << each.name;
          EXPECT_GT(each.bytes.si(), 0) << each.name;
          EXPECT_GT(each.working_set.si(), 0) << each.name;
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlscale::convolution
