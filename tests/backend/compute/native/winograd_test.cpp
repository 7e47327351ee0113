#include "backend/compute/native/winograd/winograd.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/winograd_matrices.hpp"
#include "core/convolution/tile_blocks.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"
#include "tests/core/support.hpp"

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

/// The matrices of F(4, 3) by any points, in f32.
struct Filtering {
  std::array<std::array<float, 6>, 6> data{};
  std::array<std::array<float, 3>, 6> filter{};
  std::array<std::array<float, 6>, 4> output{};
};

/// As winograd_matrices.hpp constructs them.
Filtering filtering_by(const std::array<double, 5>& points) {
  Filtering made;
  for (std::size_t i = 0; i < 6; ++i) {
    std::array<double, 6> polynomial{1};
    double divisor = 1;
    for (std::size_t l = 0; l < 5; ++l) {
      if (l == i) continue;
      for (std::size_t j = 5; j > 0; --j) {
        polynomial[j] = polynomial[j - 1] - points[l] * polynomial[j];
      }
      polynomial[0] *= -points[l];
      if (i < 5) divisor *= points[i] - points[l];
    }
    for (std::size_t j = 0; j < 6; ++j) made.data[i][j] = static_cast<float>(polynomial[j]);
    if (i == 5) continue;
    for (std::size_t j = 0; j < 4; ++j) {
      const double power = std::pow(points[i], static_cast<double>(j));
      if (j < 3) made.filter[i][j] = static_cast<float>(power / divisor);
      made.output[j][i] = static_cast<float>(power);
    }
  }
  made.filter[5][2] = 1;
  made.output[3][5] = 1;
  return made;
}

template <std::size_t rows, std::size_t n>
std::array<float, rows> times(const std::array<std::array<float, n>, rows>& a,
                              const std::array<float, n>& x) {
  std::array<float, rows> result{};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < n; ++k) result[i] += a[i][k] * x[k];
  }
  return result;
}

/// The root mean square error of lines of normally distributed values, relative to that of the
/// results.
double error_by(const Filtering& by) {
  constexpr int tiles = 400, channels = 32;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  double of_errors = 0, squares = 0;
  for (int tile = 0; tile < tiles; ++tile) {
    std::array<float, 6> products{};
    std::array<double, 4> expected{};
    for (int channel = 0; channel < channels; ++channel) {
      std::array<float, 6> d{};
      std::array<float, 3> g{};
      std::ranges::generate(d, [&] { return normal(random); });
      std::ranges::generate(g, [&] { return normal(random); });
      const auto u = times(by.filter, g);
      const auto v = times(by.data, d);
      for (std::size_t i = 0; i < 6; ++i) products[i] += u[i] * v[i];
      for (std::size_t i = 0; i < 12; ++i)
        expected[i / 3] += double{g[i % 3]} * double{d[i / 3 + i % 3]};
    }
    const auto y = times(by.output, products);
    for (std::size_t i = 0; i < 4; ++i) {
      of_errors += std::pow(double{y[i]} - expected[i], 2);
      squares += expected[i] * expected[i];
    }
  }
  return std::sqrt(of_errors / squares);
}

TEST(WinogradMatrices, ErrByTheirPointsLessThanByTheUsualOnes) {
  const Filtering ours = filtering_by({0, 0.625, -0.625, 1.5, -1.5});
  constexpr auto filter = minimal_filtering::rounded(minimal_filtering::filter_matrix<4, 3>());
  constexpr auto data = minimal_filtering::rounded(minimal_filtering::data_matrix<6>());
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t j = 0; j < 6; ++j) EXPECT_FLOAT_EQ(ours.data[i][j], data[i][j]);
    for (std::size_t j = 0; j < 3; ++j) EXPECT_FLOAT_EQ(ours.filter[i][j], filter[i][j]);
  }
  const double ratio = error_by(ours) / error_by(filtering_by({0, 1, -1, 2, -2}));
  EXPECT_LT(ratio, 0.75) << "about its square in two dimensions";
}

// The passes, against plain loops

ConvolutionShape make_shape(Index images, Index channels, Index height, Index width, Index outputs,
                            Index pad, Index groups = 1) {
  return shape_of(images, channels, height, width, outputs, 3, 3, 1, pad, groups);
}

const ConvolutionAlgorithm* const algorithms[]{&winograd_f2,       &winograd_f4,
                                               &winograd_f6,       &winograd_f2_fused,
                                               &winograd_f4_fused, &winograd_f6_fused};

void expect_agreement(const ConvolutionShape& shape,
                      std::initializer_list<int> numbers_of_threads = {1}) {
  for (const Pass pass : convolution_passes) {
    const PassData data = pass_data(shape, pass);
    for (const ConvolutionAlgorithm* algorithm : algorithms) {
      for (const int threads : numbers_of_threads) {
        EXPECT_LT(error_of(*algorithm->make(shape, pass, threads), data), 1e-4)
            << algorithm->name << ", " << pass_name(pass) << ", " << describe(shape) << ", "
            << threads << " threads";
      }
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
  expect_agreement(make_shape(218, 110, 1, 1, 400, 1));  // both at once, one tile an image
}

TEST(Winograd, ComputesTheSameWithSeveralThreads) {
  expect_agreement(make_shape(3, 20, 15, 18, 35, 1), {2, 3});
  expect_agreement(make_shape(2, 130, 40, 30, 3, 1), {2, 3});
  expect_agreement(make_shape(1, 1, 4, 4, 1, 1), {2, 3});
}

/// Of one run, over the elements of its result.
struct Errors {
  double root_mean_square;  ///< over that of the result
  double largest;           ///< as backend::OperationCheck has it
};

Errors errors_of(const ConvolutionAlgorithm& algorithm, const PassData& data,
                 const ConvolutionShape& shape, Pass pass) {
  const auto made = algorithm.make(shape, pass, 1);
  Guarded scratch(made->scratch_bytes());
  std::vector<float> result(data.result.size());
  made->run(data.first.data(), data.second.data(), result.data(), scratch.data());
  double squares = 0, of_errors = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    const double off = double{result[i]} - data.result[i];
    squares += data.result[i] * data.result[i];
    of_errors += off * off;
  }
  const double typical = std::sqrt(squares / static_cast<double>(result.size()));
  double largest = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    largest = std::max(largest, std::abs(double{result[i]} - data.result[i]) /
                                    std::max(std::abs(data.result[i]), typical));
  }
  return {std::sqrt(of_errors / squares), largest};
}

/// As winograd.hpp has it.
TEST(Winograd, ErrsAsItsPointsLetExpect) {
  for (const Pass pass : convolution_passes) {
    for (const Index channels : {64, 512}) {
      const ConvolutionShape layer = make_shape(1, channels, 14, 14, channels == 64 ? 64 : 24, 1);
      const PassData data = pass_data(layer, pass);
      const Errors f2 = errors_of(winograd_f2, data, layer, pass);
      const Errors f4 = errors_of(winograd_f4, data, layer, pass);
      const Errors f6 = errors_of(winograd_f6, data, layer, pass);
      const std::string what = std::string(pass_name(pass)) + " " + std::to_string(channels);
      EXPECT_GT(f4.root_mean_square, 1.5 * f2.root_mean_square) << what;
      EXPECT_GT(f6.root_mean_square, 1.5 * f4.root_mean_square) << what;
      EXPECT_LT(f2.root_mean_square, 6e-7) << what;
      EXPECT_LT(f4.root_mean_square, 2e-6) << what;
      EXPECT_LT(f6.root_mean_square, 6e-6) << what;
      for (const Errors& each : {f2, f4, f6}) {
        EXPECT_LT(each.largest, 20 * each.root_mean_square) << what;
      }
    }
  }
}

/// The longest sums and the largest results that the time of a test allows.
TEST(Winograd, ErrsByNoMoreThanIsAllowedInLargeLayersEither) {
  struct Large {
    ConvolutionShape shape;
    Pass pass;
  };
  for (const auto& [shape, pass] : {Large{make_shape(1, 2048, 14, 14, 4, 1), Pass::forward},
                                    Large{make_shape(1, 4, 14, 14, 2048, 1), Pass::backward_data},
                                    Large{make_shape(48, 2, 56, 56, 3, 1), Pass::backward_filter},
                                    Large{make_shape(3, 192, 13, 13, 128, 1), Pass::forward},
                                    Large{make_shape(1, 64, 56, 56, 64, 1), Pass::forward}}) {
    const PassData data = pass_data(shape, pass);
    const Errors f6 = errors_of(winograd_f6, data, shape, pass);
    const std::string what = describe(shape) + ", " + std::string(pass_name(pass));
    EXPECT_LT(f6.root_mean_square, 1e-5) << what;
    EXPECT_LT(f6.largest, allowed_error(DType::f32)) << what;
  }
}

TEST(Winograd, NeedsScratchThatDoesNotGrowWithTheBatch) {
  for (const ConvolutionAlgorithm* algorithm : algorithms) {
    for (const Pass pass : convolution_passes) {
      const auto bytes = [&](Index images) {
        return algorithm->make(make_shape(images, 64, 56, 56, 64, 1), pass, 1)->scratch_bytes();
      };
      EXPECT_EQ(bytes(64), bytes(1024)) << algorithm->name << ", " << pass_name(pass);
      EXPECT_LT(bytes(1024), std::size_t{24} << 20) << algorithm->name << ", " << pass_name(pass);
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
  for (const Pass pass : convolution_passes) {
    EXPECT_THAT(refusal_of(winograd_f4, shape, pass), testing::StartsWith(property));
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
  const std::size_t limit = static_cast<std::size_t>(convolution::gradient_limit_bytes);
  const auto made = winograd_f2_fused.make(layer, Pass::backward_filter, 1);
  EXPECT_LT(made->scratch_bytes(), limit + (std::size_t{64} << 20));
  for (const Pass pass : {Pass::forward, Pass::backward_data}) {
    EXPECT_NE(winograd_f2_fused.make(layer, pass, 2), nullptr) << "they hold no gradients";
  }
  test::expect_contains(refusal_of(winograd_f2_fused, layer, Pass::backward_filter, 2),
                        "2 threads");
  EXPECT_NE(winograd_f2.make(layer, Pass::backward_filter, 2), nullptr);
}

TEST(Winograd, FusedSendsNobodyToWhatHoldsAsMuch) {
  const ConvolutionShape layer = make_shape(1, 2048, 7, 7, 2048, 1);
  test::expect_contains(refusal_of(winograd_f6_fused, layer, Pass::backward_filter, 2),
                        "winograd_f6 has one for all, of 1");
  test::expect_contains(refusal_of(winograd_f6_fused, layer, Pass::backward_filter),
                        "winograd_f6 holds as much");
}

TEST(Winograd, StagedHoldsAsManyTimesTheFiltersAsItSays) {
  const ConvolutionShape layer = make_shape(1, 2048, 7, 7, 2048, 1);
  const double filters = 4.0 * 2048 * 2048 * 9;
  constexpr double block = 1 << 26;  // the few tiles of an image, of 2048 channels on either side
  for (const auto& [algorithm, factor] :
       {std::pair(&winograd_f2, 16.0 / 9), std::pair(&winograd_f4, 36.0 / 9),
        std::pair(&winograd_f6, 64.0 / 9)}) {
    for (const Pass pass : convolution_passes) {
      const auto bytes = static_cast<double>(algorithm->make(layer, pass, 1)->scratch_bytes());
      EXPECT_LT(bytes, 1.05 * factor * filters + block) << algorithm->name << pass_name(pass);
    }
    const auto kept = algorithm->make(layer, Pass::forward, 1)->kept_bytes();
    EXPECT_GE(static_cast<double>(kept), factor * filters) << algorithm->name;
  }
}

TEST(Winograd, SaysWhichFilteringRuns) {
  const ConvolutionShape layer = make_shape(1, 3, 9, 9, 4, 1);
  const auto named = [&](const ConvolutionAlgorithm& algorithm, Pass pass) {
    return algorithm.make(layer, pass, 1)->implementation();
  };
  using testing::StartsWith;
  EXPECT_THAT(named(winograd_f4, Pass::forward), StartsWith("winograd F(4x4,3x3) "));
  EXPECT_THAT(named(winograd_f4, Pass::backward_filter), StartsWith("winograd F(3x3,4x4) "));
  EXPECT_THAT(named(winograd_f4_fused, Pass::forward), StartsWith("winograd F(4x4,3x3) fused "));
}

}  // namespace
}  // namespace dlscale::backend::native_device
