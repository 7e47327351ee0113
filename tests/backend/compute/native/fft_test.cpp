#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <memory>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "backend/compute/native/algorithms.hpp"
#include "backend/compute/native/convolution/convolution.hpp"
#include "backend/compute/native/fft/fft_convolution.hpp"
#include "backend/compute/native/fft/fourier_library.hpp"
#include "backend/compute/native/fft/fourier_transform.hpp"
#include "backend/compute/native/fft/problem.hpp"
#include "backend/compute/native/fft/spectral_convolution.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"
#include "tests/core/support.hpp"

namespace dlscale::backend::native_device::spectral {
namespace {

using Index = std::int64_t;

std::vector<float> random_values(Index count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(-1.0F, 1.0F);
  std::vector<float> result(static_cast<std::size_t>(count));
  for (float& value : result) value = values(generator);
  return result;
}

// ---------------------------------------------------------------------------------- transforms

using Plane = std::vector<double>;  ///< L × L
using Spectrum = std::vector<std::complex<double>>;

/// from[0], from[step], … times root[0], root[wave], root[2 wave], … of L, summed.
template <class Float>
std::complex<double> wave_sum(Index L, const Spectrum& root, const Float* from, Index step,
                              Index wave) {
  double re = 0, im = 0;
  for (Index k = 0, at = 0; k < L; ++k, at = (at + wave) & (L - 1)) {
    const auto* w = reinterpret_cast<const double*>(&root[static_cast<std::size_t>(at)]);
    if constexpr (std::is_same_v<Float, double>) {
      re += from[k * step] * w[0];
      im += from[k * step] * w[1];
    } else {
      const auto* x = reinterpret_cast<const double*>(from + k * step);
      re += x[0] * w[0] - x[1] * w[1];
      im += x[0] * w[1] + x[1] * w[0];
    }
  }
  return {re, im};
}

/// The transform of a plane by its definition, a row and then a column at a time; frequency
/// v · L + u as in Spectra. Plain loops over plain numbers: it takes most of the time of these
/// tests where a sanitizer watches it.
Spectrum plain_transform(Index L, const Plane& plane) {
  Spectrum root;
  for (Index k = 0; k < L; ++k) {
    root.push_back(
        std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(L)));
  }
  const Index half = L / 2 + 1;
  Spectrum rows(static_cast<std::size_t>(L * half));
  for (Index y = 0; y < L; ++y) {
    const double* row = plane.data() + y * L;
    if (std::all_of(row, row + L, [](double pixel) { return pixel == 0; })) continue;
    for (Index v = 0; v < half; ++v) {
      rows[static_cast<std::size_t>(y * half + v)] = wave_sum(L, root, row, 1, v);
    }
  }
  Spectrum result;
  for (Index v = 0; v < half; ++v) {
    for (Index u = 0; u < L; ++u) {
      result.push_back(wave_sum(L, root, rows.data() + v, half, u));
    }
  }
  return result;
}

using Subject = std::tuple<const FourierLibrary*, Index>;

class TransformTest : public ::testing::TestWithParam<Subject> {
 protected:
  Index L = std::get<1>(GetParam());
  std::unique_ptr<FourierTransform> transform = std::get<0>(GetParam())->make(L);
  Index batch = transform->batch();
  Index stride = 2 * batch + 16;
  Guarded spectra{static_cast<std::size_t>(frequencies(L) * stride) * sizeof(float)};
  Guarded workspace{transform->workspace_bytes()};

  [[nodiscard]] float* re() { return spectra.floats(); }
  [[nodiscard]] float* im() { return spectra.floats() + batch; }

  void expect_spectrum(Index b, const Spectrum& expected) {
    std::vector<double> re_and_im;
    std::vector<float> actual;
    for (Index f = 0; f < frequencies(L); ++f) {
      re_and_im.push_back(expected[static_cast<std::size_t>(f)].real());
      re_and_im.push_back(expected[static_cast<std::size_t>(f)].imag());
      actual.push_back(re()[f * stride + b]);
      actual.push_back(im()[f * stride + b]);
    }
    EXPECT_LT(relative_error(actual, re_and_im), 3e-6) << "plane " << b;
  }
};

INSTANTIATE_TEST_SUITE_P(AllSizes, TransformTest,
                         ::testing::Combine(::testing::ValuesIn(std::vector<const FourierLibrary*>(
                                                family<FourierLibrary>().members.begin(),
                                                family<FourierLibrary>().members.end())),
                                            ::testing::Values(4, 8, 16, 32, 64, 128, 256)),
                         [](const auto& of) {
                           return std::string(std::get<0>(of.param)->name) +
                                  std::to_string(std::get<1>(of.param));
                         });

TEST_P(TransformTest, ForwardIsTheTransformByItsDefinition) {
  const std::vector<float> pixels = random_values(3 * L * L, 1);
  const std::vector<Source> planes{
      {pixels.data(), L, L, L, 0, 0},                          // as large as the plane
      {pixels.data() + L * L, L, L - 2, L - 3, 1, 2},          // zeros on all sides
      {pixels.data() + 2 * L * L, L + 1, 1, 2, L - 1, L - 2},  // the last corner
      {},                                                      // zeros only
  };
  transform->forward(planes, {re(), im(), stride}, workspace.data());
  for (std::size_t b = 0; b < planes.size(); ++b) {
    const Source& from = planes[b];
    Plane plane(static_cast<std::size_t>(L * L));
    for (Index y = 0; y < from.rows; ++y) {
      for (Index x = 0; x < from.columns; ++x) {
        plane[static_cast<std::size_t>((from.top + y) * L + from.left + x)] =
            double{from.pixels[y * from.row_stride + x]};
      }
    }
    expect_spectrum(static_cast<Index>(b), plain_transform(L, plane));
  }
  EXPECT_TRUE(spectra.intact());
  EXPECT_TRUE(workspace.intact());
}

TEST_P(TransformTest, InverseOfTheSpectrumIsThePlane) {
  const std::vector<float> pixels = random_values(L * L, 2);
  const Plane plane(pixels.begin(), pixels.end());
  const Spectrum spectrum = plain_transform(L, plane);
  std::fill_n(spectra.floats(), frequencies(L) * stride, 0.0F);
  for (Index f = 0; f < frequencies(L); ++f) {
    re()[f * stride + 1] = static_cast<float>(spectrum[static_cast<std::size_t>(f)].real());
    im()[f * stride + 1] = static_cast<float>(spectrum[static_cast<std::size_t>(f)].imag());
  }
  Guarded zeros(pixels.size() * sizeof(float));
  Guarded result(pixels.size() * sizeof(float));
  const std::vector<Target> targets{{zeros.floats(), L, L, L, 0, 0},
                                    {result.floats(), L, L, L, 0, 0}};
  transform->inverse({re(), im(), stride}, targets, workspace.data());
  EXPECT_LT(relative_error({result.floats(), plane.size()}, plane), 3e-6);
  EXPECT_TRUE(std::all_of(zeros.floats(), zeros.floats() + plane.size(),
                          [](float pixel) { return pixel == 0; }));
  EXPECT_TRUE(result.intact() && zeros.intact() && workspace.intact());
}

TEST_P(TransformTest, ThereAndBackGivesAllPlanesOfABatch) {
  const std::vector<float> pixels = random_values(batch * L * L, 3);
  std::vector<float> result(pixels.size());
  std::vector<Source> sources;
  std::vector<Target> targets;
  for (Index b = 0; b < batch; ++b) {
    sources.push_back({pixels.data() + b * L * L, L, L, L, 0, 0});
    targets.push_back({result.data() + b * L * L, L, L, L, 0, 0});
  }
  transform->forward(sources, {re(), im(), stride}, workspace.data());
  transform->inverse({re(), im(), stride}, targets, workspace.data());
  EXPECT_LT(relative_error(result, std::vector<double>(pixels.begin(), pixels.end())), 3e-6);
}

TEST_P(TransformTest, InverseWritesItsWindowOnly) {
  const std::vector<float> pixels = random_values(L * L, 4);
  const std::vector<Source> sources{{pixels.data(), L, L, L, 0, 0}};
  transform->forward(sources, {re(), im(), stride}, workspace.data());
  std::vector<float> result(static_cast<std::size_t>(L * L), 7.0F);
  const std::vector<Target> targets{{result.data() + 1, L, 2, L - 2, 1, 2}};
  transform->inverse({re(), im(), stride}, targets, workspace.data());
  for (Index y = 0; y < L; ++y) {
    for (Index x = 0; x < L; ++x) {
      const bool inside = y < 2 && x >= 1 && x < L - 1;
      const float expected = inside ? pixels[static_cast<std::size_t>((y + 1) * L + x + 1)] : 7.0F;
      EXPECT_NEAR(result[static_cast<std::size_t>(y * L + x)], expected, 3e-6);
    }
  }
}

TEST(FourierLibrary, TakesPowersOfTwoOnly) {
  for (const FourierLibrary* library : family<FourierLibrary>().members) {
    for (const Index L : {0, 2, 12, 512}) {
      EXPECT_THROW(library->make(L), std::logic_error) << library->name;
    }
  }
}

// -------------------------------------------------------------------------------- convolutions

ConvolutionShape make_shape(Index N, Index C, Index H, Index W, Index K, Index R, Index S,
                            Index pad, Index groups = 1) {
  return shape_of(N, C, H, W, K, R, S, 1, pad, groups);
}

void expect_right(ConvolutionPass& pass, const PassData& data) {
  EXPECT_LT(error_of(pass, data), 4e-6);
}

struct Case {
  std::string name;
  ConvolutionShape shape;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"OneOfEverything", make_shape(1, 1, 1, 1, 1, 1, 1, 0)},
      {"KernelOfOne", make_shape(5, 3, 9, 9, 17, 1, 1, 0)},
      {"KernelOfOneWithPad", make_shape(2, 3, 6, 6, 2, 1, 1, 2)},
      {"OneChannel", make_shape(5, 1, 12, 12, 5, 3, 3, 1)},
      {"OneOutput", make_shape(1, 17, 12, 12, 1, 3, 3, 1)},
      {"ThreeByThreeOnSeven", make_shape(3, 4, 7, 7, 5, 3, 3, 1)},
      {"FiveByFive", make_shape(5, 3, 27, 27, 4, 5, 5, 2)},
      {"ElevenByEleven", make_shape(2, 3, 40, 40, 2, 11, 11, 0)},
      {"NotSquare", make_shape(2, 3, 9, 30, 4, 2, 5, 1)},
      {"KernelNotSquare", make_shape(2, 3, 17, 13, 4, 1, 7, 3)},
      {"KernelAsLargeAsImage", make_shape(5, 2, 9, 7, 3, 9, 7, 0)},
      {"KernelAsLargeAsPaddedImage", make_shape(2, 2, 5, 5, 3, 9, 9, 2)},
      {"PadOfKernelLessOne", make_shape(2, 3, 8, 8, 3, 4, 4, 3)},
      {"PadLargerThanKernel", make_shape(2, 2, 5, 6, 3, 3, 2, 5)},
      {"ManyTiles", make_shape(1, 2, 45, 37, 3, 3, 3, 1)},
      {"FullBatch", make_shape(17, 2, 8, 8, 2, 3, 3, 0)},
      {"Groups", make_shape(3, 6, 10, 10, 4, 3, 3, 1, 2)},
      {"Depthwise", make_shape(2, 5, 10, 10, 5, 3, 3, 1, 5)},
  };
  return all;
}

class FftConvolutionTest
    : public ::testing::TestWithParam<std::tuple<Case, const ConvolutionAlgorithm*, Pass>> {};

INSTANTIATE_TEST_SUITE_P(AllCases, FftConvolutionTest,
                         ::testing::Combine(::testing::ValuesIn(cases()),
                                            ::testing::Values(&fft, &fft_tiled),
                                            ::testing::Values(Pass::forward, Pass::backward_data,
                                                              Pass::backward_filter)),
                         [](const auto& of) {
                           return std::get<0>(of.param).name + "_" +
                                  std::string(std::get<1>(of.param)->name) + "_" +
                                  std::string(pass_name(std::get<2>(of.param)));
                         });

TEST_P(FftConvolutionTest, IsTheConvolutionByItsDefinition) {
  const auto& [named, algorithm, pass] = GetParam();
  const auto made = algorithm->make(named.shape, pass, 1);
  expect_right(*made, pass_data(named.shape, pass));
}

TEST(FftConvolution, TilesOfAllSizesAreRight) {
  const ConvolutionShape shape = make_shape(2, 3, 21, 18, 2, 5, 3, 2);
  for (const Index L : {8, 16, 32, 64}) {
    for (const Pass pass : convolution_passes) {
      const auto made =
          make_spectral_convolution("tiles", make_problem(shape, pass, L, Tiling::overlap_save),
                                    make_batched_transform(L), 1);
      SCOPED_TRACE(made->implementation());
      expect_right(*made, pass_data(shape, pass));
    }
  }
}

TEST(FftConvolution, BlocksOfAllSizesAreRight) {
  const ConvolutionShape shape = make_shape(21, 19, 6, 6, 18, 3, 3, 1);
  for (const Pass pass : convolution_passes) {
    const PassData operands = pass_data(shape, pass);
    const Problem problem = make_problem(shape, pass, 8, Tiling::whole);
    for (const Index kibibytes : {100, 200, 400}) {
      const Index limit = kibibytes << 10;
      SCOPED_TRACE(std::to_string(kibibytes) + " KiB");
      const auto blocks = convolution::choose_blocks(problem.sizes(), 16, limit);
      EXPECT_LE(blocks.floats() * frequencies(8) * 4, limit);
      const auto made =
          make_spectral_convolution("blocks", problem, make_batched_transform(8), 1, limit);
      expect_right(*made, operands);
    }
  }
}

TEST(FftConvolution, NumberOfThreadsChangesNothing) {
  const ConvolutionShape shape = make_shape(5, 7, 19, 23, 9, 5, 5, 2);
  for (const ConvolutionAlgorithm* algorithm : {&fft, &fft_tiled}) {
    for (const Pass pass : convolution_passes) {
      const PassData operands = pass_data(shape, pass);
      std::vector<double> of_one;
      for (const int threads : {1, 2, 5}) {
        const auto made = algorithm->make(shape, pass, threads);
        Guarded scratch(made->scratch_bytes());
        std::vector<float> result(operands.result.size());
        made->run(operands.first.data(), operands.second.data(), result.data(), scratch.data());
        if (threads == 1) of_one.assign(result.begin(), result.end());
        EXPECT_LT(relative_error(result, of_one), 1e-6);
        EXPECT_TRUE(scratch.intact());
      }
    }
  }
}

/// Ours under another name: a second library where none was built in.
class RenamedTransform final : public FourierTransform {
 public:
  explicit RenamedTransform(Index L) : ours_(make_batched_transform(L)) {}
  [[nodiscard]] std::string implementation() const override { return "renamed"; }
  [[nodiscard]] std::int64_t batch() const override { return ours_->batch(); }
  [[nodiscard]] std::size_t workspace_bytes() const override { return ours_->workspace_bytes(); }
  void forward(std::span<const Source> planes, const Spectra<float>& to,
               std::byte* workspace) const override {
    ours_->forward(planes, to, workspace);
  }
  void inverse(const Spectra<const float>& from, std::span<const Target> planes,
               std::byte* workspace) const override {
    ours_->inverse(from, planes, workspace);
  }

 private:
  std::unique_ptr<FourierTransform> ours_;
};

std::unique_ptr<FourierTransform> make_renamed(Index L) {
  return std::make_unique<RenamedTransform>(L);
}

TEST(FftConvolution, IsOfferedByTheTransformsOfEveryLibrary) {
  const FourierLibrary renamed{"renamed", "of this test", make_renamed};
  std::vector<const FourierLibrary*> libraries{&renamed};
  for (const FourierLibrary* built : family<FourierLibrary>().members) libraries.push_back(built);
  const ConvolutionShape shape = make_shape(3, 4, 21, 18, 5, 5, 3, 2);
  for (const FourierLibrary* library : libraries) {
    const std::string name(library->name);
    const std::string runs = " " + library->make(32)->implementation() + "+gemm";
    const std::vector<ConvolutionAlgorithm> both = fft_by(*library);
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].name, "fft_" + name);
    EXPECT_EQ(both[1].name, "fft_tiled_" + name);
    for (const ConvolutionAlgorithm& algorithm : both) {
      for (const Pass pass : convolution_passes) {
        const auto made = algorithm.make(shape, pass, 2);
        SCOPED_TRACE(made->implementation());
        EXPECT_TRUE(made->implementation().starts_with(algorithm.name + " "));
        EXPECT_TRUE(made->implementation().ends_with(runs));
        expect_right(*made, pass_data(shape, pass));
      }
    }
  }
}

TEST(FftConvolution, IsListedByTheLibrariesThatWereBuiltInBesideOurs) {
  std::vector<std::string> expected, listed;
  for (const FourierLibrary* library : family<FourierLibrary>().members) {
    if (library->name == "own") continue;
    expected.push_back("fft_" + std::string(library->name));
    expected.push_back("fft_tiled_" + std::string(library->name));
  }
  for (const ConvolutionAlgorithm* algorithm : all_algorithms()) {
    const bool ours = std::ranges::count(own_algorithms(), algorithm) > 0;
    if (!ours) listed.push_back(algorithm->name);
  }
  EXPECT_EQ(listed, expected);
}

TEST(FftConvolution, ScratchIsBounded) {
  const ConvolutionShape vgg_conv1_2 = make_shape(128, 64, 224, 224, 64, 3, 3, 1);
  const ConvolutionShape vgg_conv5 = make_shape(128, 512, 14, 14, 512, 3, 3, 1);
  for (const ConvolutionShape& shape : {vgg_conv1_2, vgg_conv5}) {
    for (const ConvolutionAlgorithm* algorithm : {&fft, &fft_tiled}) {
      for (const Pass pass : convolution_passes) {
        const std::size_t bytes = algorithm->make(shape, pass, 1)->scratch_bytes();
        EXPECT_LE(bytes, static_cast<std::size_t>(spectra_limit_bytes) + (std::size_t{16} << 20));
      }
    }
  }
}

TEST(FftConvolution, SaysWhatRuns) {
  const ConvolutionShape shape = make_shape(2, 3, 30, 30, 4, 3, 3, 1);
  const std::string whole = fft.make(shape, Pass::forward, 1)->implementation();
  EXPECT_TRUE(whole.starts_with("fft 32x32 ")) << whole;
  EXPECT_TRUE(whole.ends_with("+gemm")) << whole;
  const std::string tiled = fft_tiled.make(shape, Pass::forward, 1)->implementation();
  EXPECT_TRUE(tiled.starts_with("fft_tiled ")) << tiled;
}

TEST(FftConvolution, RefusesByName) {
  ConvolutionShape strided = make_shape(2, 3, 9, 9, 4, 3, 3, 1);
  strided.stride = 2;
  strided.out_height = strided.out_width = 5;
  for (const ConvolutionAlgorithm* algorithm : {&fft, &fft_tiled}) {
    for (const Pass pass : convolution_passes) {
      test::expect_contains(refusal_of(*algorithm, strided, pass), "stride 2");
    }
    test::expect_contains(
        refusal_of(*algorithm, make_shape(2, 3, 9, 9, 4, 3, 3, 1), Pass::accumulate), "accumulate");
  }
  const ConvolutionShape high = make_shape(1, 1, 300, 8, 1, 3, 3, 1);
  test::expect_contains(refusal_of(fft, high, Pass::forward), "512 points");
  const ConvolutionShape large = make_shape(1, 1, 40, 40, 1, 33, 3, 1);
  test::expect_contains(refusal_of(fft_tiled, large, Pass::forward), "33 x 3");
}

TEST(FftConvolution, WholeImagesNeedNoPointsForWhatWrapsAround) {
  EXPECT_EQ(convolution::points_for_whole(make_shape(1, 1, 64, 64, 1, 9, 9, 0)), 64);
  EXPECT_EQ(convolution::points_for_whole(make_shape(1, 1, 7, 7, 1, 3, 3, 1)), 8);
  EXPECT_EQ(convolution::points_for_whole(make_shape(1, 1, 31, 8, 1, 3, 3, 1)), 32);
  EXPECT_EQ(convolution::points_for_whole(make_shape(1, 1, 2, 2, 1, 2, 2, 0)), 4);
  EXPECT_EQ(convolution::points_for_whole(make_shape(1, 1, 5, 5, 1, 9, 9, 2)), 16);
}

}  // namespace
}  // namespace dlscale::backend::native_device::spectral
