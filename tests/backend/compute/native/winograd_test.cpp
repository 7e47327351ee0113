#include "backend/compute/native/winograd.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <string>

#include "backend/compute/winograd_matrices.hpp"
#include "core/error.hpp"
#include "core/lowering/limits.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"

namespace dlscale::backend::native_device {
namespace {

using Index = std::int64_t;
using minimal_filtering::Rational;

// The matrices

/// Aᵀ [(G g) ⊙ (Bᵀ d)] against Σ_k g_k d_{i+k}, in fractions, so exactly.
template <int m, int r>
void expect_minimal_filtering() {
  constexpr int alpha = m + r - 1;
  constexpr auto output = minimal_filtering::output_matrix<m, r>();
  constexpr auto filter = minimal_filtering::filter_matrix<m, r>();
  constexpr auto data = minimal_filtering::data_matrix<alpha>();
  std::minstd_rand random(m);
  std::uniform_int_distribution<int> integer(-9, 9);
  std::array<Rational, r> g;
  std::array<Rational, alpha> d;
  for (Rational& tap : g) tap = integer(random);
  for (Rational& value : d) value = integer(random);
  for (int i = 0; i < m; ++i) {
    Rational y;
    for (int e = 0; e < alpha; ++e) {
      Rational u;
      Rational v;
      for (int k = 0; k < r; ++k) u = u + filter[e][k] * g[k];
      for (int k = 0; k < alpha; ++k) v = v + data[e][k] * d[k];
      y = y + output[i][e] * u * v;
    }
    Rational expected;
    for (int k = 0; k < r; ++k) expected = expected + g[k] * d[i + k];
    EXPECT_TRUE(y == expected) << "F(" << m << ", " << r << "), output " << i << ": " << y.value()
                               << " instead of " << expected.value();
  }
}

TEST(WinogradMatrices, CorrelateExactly) {
  expect_minimal_filtering<2, 3>();
  expect_minimal_filtering<4, 3>();
  expect_minimal_filtering<6, 3>();
}

TEST(WinogradMatrices, CorrelateExactlyWithTheTilesAsFilters) {
  expect_minimal_filtering<3, 2>();
  expect_minimal_filtering<3, 4>();
  expect_minimal_filtering<3, 6>();
}

TEST(WinogradMatrices, AreThoseOfTheLiteratureButForSigns) {
  const minimal_filtering::Table<Rational, 4, 3> filter = minimal_filtering::filter_matrix<2, 3>();
  const Rational half(1, 2);
  EXPECT_TRUE((filter[1] == std::array<Rational, 3>{half, half, half}));
  EXPECT_TRUE((filter[2] == std::array<Rational, 3>{half, Rational(-1, 2), half}));
  EXPECT_TRUE(
      (minimal_filtering::output_matrix<2, 3>()[1] == std::array<Rational, 4>{0, 1, -1, 1}));
  EXPECT_TRUE((minimal_filtering::data_matrix<4>()[3] == std::array<Rational, 4>{0, -1, 0, 1}));
}

// The passes, against plain loops

double error_of(const ConvolutionAlgorithm& algorithm, const ConvolutionShape& shape, Pass pass,
                int threads = 1) {
  return error_of(*algorithm.make(shape, pass, threads), pass_data(shape, pass));
}

ConvolutionShape make_shape(Index images, Index channels, Index height, Index width, Index outputs,
                            Index pad, Index groups = 1) {
  return shape_of(images, channels, height, width, outputs, 3, 3, 1, pad, groups);
}

constexpr Pass passes[]{Pass::forward, Pass::backward_data, Pass::backward_filter};
const ConvolutionAlgorithm* const algorithms[]{&winograd_f2,       &winograd_f4,
                                               &winograd_f6,       &winograd_f2_fused,
                                               &winograd_f4_fused, &winograd_f6_fused};

void expect_agreement(const ConvolutionShape& shape, int threads = 1) {
  for (const Pass pass : passes) {
    const PassData data = pass_data(shape, pass);
    for (const ConvolutionAlgorithm* algorithm : algorithms) {
      EXPECT_LT(error_of(*algorithm->make(shape, pass, threads), data), 1e-4)
          << algorithm->name << ", " << pass_name(pass) << ", N " << shape.images << ", C "
          << shape.channels << ", H " << shape.height << ", W " << shape.width << ", K "
          << shape.outputs << ", pad " << shape.pad << ", groups " << shape.groups;
    }
  }
}

TEST(Winograd, ComputesEveryPassWithAnyPadding) {
  for (const Index pad : {0, 1, 2}) expect_agreement(make_shape(2, 3, 12, 24, 4, pad));
}

TEST(Winograd, ComputesMapsThatNoTileFits) {
  for (const Index pad : {0, 1, 2}) {
    expect_agreement(make_shape(1, 2, 13, 7, 3, pad));
    expect_agreement(make_shape(1, 2, 3, 37, 3, pad));
    expect_agreement(make_shape(2, 2, 29, 3, 3, pad));
  }
}

TEST(Winograd, ComputesMapsSmallerThanATile) {
  expect_agreement(make_shape(3, 2, 3, 3, 2, 0));
  expect_agreement(make_shape(3, 2, 1, 1, 2, 1));
  expect_agreement(make_shape(3, 2, 1, 2, 2, 2));
}

TEST(Winograd, ComputesAnyNumberOfChannelsAndImages) {
  expect_agreement(make_shape(1, 1, 8, 9, 1, 1));
  expect_agreement(make_shape(3, 17, 8, 9, 1, 1));
  expect_agreement(make_shape(5, 1, 8, 9, 17, 1));
  expect_agreement(make_shape(1, 33, 5, 6, 19, 1));
  expect_agreement(make_shape(17, 16, 5, 6, 32, 1));
}

TEST(Winograd, ComputesGroups) {
  expect_agreement(make_shape(2, 6, 9, 10, 4, 1, 2));
  expect_agreement(make_shape(2, 5, 9, 10, 10, 0, 5));
}

TEST(Winograd, ComputesSeveralBlocksOfTilesAndOfChannels) {
  expect_agreement(make_shape(2, 130, 40, 90, 3, 1));
  expect_agreement(make_shape(1, 3, 40, 90, 130, 1));
  expect_agreement(make_shape(300, 110, 1, 1, 400, 1));  // both at once, one tile an image
}

TEST(Winograd, ComputesTheSameWithSeveralThreads) {
  for (const int threads : {2, 3}) {
    expect_agreement(make_shape(3, 20, 15, 18, 35, 1), threads);
    expect_agreement(make_shape(2, 130, 40, 30, 3, 1), threads);
    expect_agreement(make_shape(1, 1, 4, 4, 1, 1), threads);
  }
}

TEST(Winograd, ErrsAsItsPointsLetExpect) {
  for (const Pass pass : passes) {
    for (const Index channels : {64, 512}) {
      const ConvolutionShape layer = make_shape(1, channels, 14, 14, channels == 64 ? 64 : 24, 1);
      const double f2 = error_of(winograd_f2, layer, pass);
      const double f4 = error_of(winograd_f4, layer, pass);
      const double f6 = error_of(winograd_f6, layer, pass);
      EXPECT_LT(f2, 4e-6) << pass_name(pass);
      EXPECT_LT(f4, 1.5e-5) << pass_name(pass);
      EXPECT_LT(f6, 1e-4) << pass_name(pass);
      EXPECT_GT(f6, 2 * f2) << pass_name(pass);
    }
  }
}

TEST(Winograd, NeedsScratchThatDoesNotGrowWithTheBatch) {
  for (const ConvolutionAlgorithm* algorithm : algorithms) {
    for (const Pass pass : passes) {
      const auto bytes = [&](Index images) {
        return algorithm->make(make_shape(images, 64, 56, 56, 64, 1), pass, 1)->scratch_bytes();
      };
      EXPECT_EQ(bytes(64), bytes(1024)) << algorithm->name << ", " << pass_name(pass);
      EXPECT_LT(bytes(1024), std::size_t{24} << 20) << algorithm->name << ", " << pass_name(pass);
    }
  }
}

TEST(Winograd, GivesTheSameByFiltersThatWereKept) {
  for (const ConvolutionShape& layer :
       {make_shape(2, 20, 15, 18, 35, 1, 5), make_shape(1, 130, 9, 40, 140, 1)}) {
    for (const ConvolutionAlgorithm* algorithm : algorithms) {
      for (const int threads : {1, 3}) {
        const auto made = algorithm->make(layer, Pass::forward, threads);
        const PassData data = pass_data(layer, Pass::forward);
        ASSERT_GT(made->kept_bytes(), 0U);
        Guarded kept(made->kept_bytes());
        Guarded scratch(made->scratch_bytes());
        made->keep(data.second.data(), kept.data(), scratch.data());
        for (const char* run : {"first", "second"}) {
          std::vector<float> result(data.result.size(), NAN);
          made->run_kept(data.first.data(), kept.data(), result.data(), scratch.data());
          EXPECT_LT(relative_error(result, data.result), 1e-4) << algorithm->name << ", " << run;
        }
        EXPECT_TRUE(kept.intact() && scratch.intact()) << algorithm->name;
      }
    }
  }
}

TEST(Winograd, FusedTakesOfItsTilesOnlyWhatFitsTheCachesOfACore) {
  const auto bytes = [](const ConvolutionAlgorithm& algorithm, int threads) {
    const ConvolutionShape layer = make_shape(8, 64, 112, 112, 64, 1);
    return algorithm.make(layer, Pass::forward, threads)->scratch_bytes();
  };
  const std::size_t of_a_thread = bytes(winograd_f4_fused, 3) - bytes(winograd_f4_fused, 2);
  EXPECT_GT(of_a_thread, std::size_t{256} << 10);
  EXPECT_LT(of_a_thread, std::size_t{1} << 20);
  EXPECT_LT(bytes(winograd_f4_fused, 2), bytes(winograd_f4, 2));
}

void expect_refusal(const ConvolutionShape& shape, const std::string& property) {
  for (const Pass pass : passes) {
    try {
      winograd_f4.make(shape, pass, 1);
      ADD_FAILURE() << property << " is accepted";
    } catch (const Unsupported& error) {
      EXPECT_EQ(std::string(error.what()).rfind(property, 0), 0U) << error.what();
    }
  }
}

TEST(Winograd, RefusesOtherConvolutionsByTheirProperty) {
  ConvolutionShape strided = make_shape(1, 3, 9, 9, 4, 1);
  strided.stride = 2;
  strided.out_height = strided.out_width = 5;
  expect_refusal(strided, "stride 2");
  ConvolutionShape large = make_shape(1, 3, 9, 9, 4, 2);
  large.kernel_h = large.kernel_w = 5;
  large.out_height = large.out_width = 9;
  expect_refusal(large, "kernel 5 x 5");
  expect_refusal(make_shape(1, 3, 9, 9, 4, 3), "pad 3");
}

TEST(Winograd, FusedHoldsGradientsOfAllThreadsWithinALimit) {
  const ConvolutionShape layer = make_shape(1, 2048, 7, 7, 2048, 1);
  const std::size_t limit = static_cast<std::size_t>(lowering::gradient_limit_bytes);
  const auto made = winograd_f2_fused.make(layer, Pass::backward_filter, 1);
  EXPECT_LT(made->scratch_bytes(), limit + (std::size_t{64} << 20));
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    EXPECT_NE(winograd_f2_fused.make(layer, pass, 2), nullptr) << "they hold no gradients";
  }
  try {
    winograd_f2_fused.make(layer, Pass::backward_filter, 2);
    ADD_FAILURE() << "no refusal";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("2 threads"), std::string::npos) << error.what();
  }
  EXPECT_NE(winograd_f2.make(layer, Pass::backward_filter, 2), nullptr);
}

TEST(Winograd, SaysWhichFilteringRuns) {
  const ConvolutionShape layer = make_shape(1, 3, 9, 9, 4, 1);
  EXPECT_EQ(
      winograd_f4.make(layer, Pass::forward, 1)->implementation().rfind("winograd F(4x4,3x3) ", 0),
      0U);
  EXPECT_EQ(winograd_f4.make(layer, Pass::backward_filter, 1)
                ->implementation()
                .rfind("winograd F(3x3,4x4) ", 0),
            0U);
  EXPECT_EQ(winograd_f4_fused.make(layer, Pass::forward, 1)
                ->implementation()
                .rfind("winograd F(4x4,3x3) fused ", 0),
            0U);
}

}  // namespace
}  // namespace dlscale::backend::native_device
