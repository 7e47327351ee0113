#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/compute/check/operation_memory.hpp"
#include "backend/compute/compute.hpp"
#include "backend/compute/native/algorithms.hpp"
#include "backend/compute/native/convolution/operation.hpp"
#include "backend/compute/native/fft/stages.hpp"
#include "backend/compute/winograd_matrices.hpp"
#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"
#include "core/convolution/work.hpp"
#include "tests/backend/compute/layers.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"

namespace dlscale::backend::native_device {
namespace {

// Convolutions of the backend as a whole: workspace, repeatability, bias.

constexpr std::size_t alignment = 64;

TEST(NativeOperation, IsByTheAlgorithmForItsFilterItsChannelsAndItsTiles) {
  const auto usual = [](std::int64_t images, std::int64_t channels, std::int64_t size,
                        std::int64_t kernel, std::int64_t stride) {
    return usual_algorithm(
               shape_of(images, channels, size, size, 64, kernel, kernel, stride, kernel / 2))
        .name;
  };
  EXPECT_EQ(usual(4, 64, 13, 3, 1), "winograd_f2") << "64 tiles of 4 x 4";
  EXPECT_EQ(usual(5, 64, 13, 3, 1), "winograd_f4") << "80";
  EXPECT_EQ(usual(1, 64, 32, 3, 1), "winograd_f2") << "64 of one image";
  EXPECT_EQ(usual(1, 64, 33, 3, 1), "winograd_f4") << "81";
  EXPECT_EQ(usual(16, 64, 7, 3, 1), "winograd_f2");
  EXPECT_EQ(usual(17, 64, 7, 3, 1), "winograd_f4");
  EXPECT_EQ(usual(4, 8, 13, 3, 1), "im2col");
  EXPECT_EQ(usual(4, 64, 13, 3, 2), "im2col");
  EXPECT_EQ(usual(4, 64, 13, 5, 1), "im2col");
  EXPECT_EQ(usual(4, 64, 13, 7, 1), "fft_tiled");
}

TEST(NativeOperation, NeedsForAPassWhatItsAlgorithmNeeds) {
  for (const int threads : {1, 3}) {
    const auto device = family<ComputeBackend>().find("native")->open({.threads = threads});
    const OperationSpec spec = plain_spec(
        *device,
        make_layer(Convolution{.out_channels = 64, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                   {{64, 56, 56}}),
        4, DType::f32);
    const ConvolutionShape shape = shape_of(4, 64, 56, 56, 64, 3, 3, 1, 1);
    for (const ConvolutionAlgorithm* algorithm : own_algorithms()) {
      for (const Pass pass : convolution_passes) {
        const auto all = device->algorithms(spec, pass);
        const auto found = std::ranges::find(all, algorithm->name, &Algorithm::name);
        ASSERT_NE(found, all.end());
        const auto made = found->create();
        const convolution::AlgorithmWork work = convolution::algorithm_work(
            convolution::parse_method(algorithm->name), shape, pass,
            {.threads = threads,
             .vector_floats = convolution::vector_floats(made->implementation(pass))});
        EXPECT_EQ(static_cast<double>(made->pass_scratch_bytes(pass)),
                  work.workspace.si() + static_cast<double>(alignment))
            << algorithm->name << " " << pass_name(pass) << ", " << threads << " threads";
        for (const Pass any : convolution_passes) {
          EXPECT_GE(made->scratch_bytes(), made->pass_scratch_bytes(any));
        }
      }
    }
  }
}

/// x, w and y of a shape, in the order of a pass.
struct PassOperands {
  std::vector<float> first, second;
  std::size_t results;
};

PassOperands operands_of(const ConvolutionShape& shape, Pass pass) {
  const auto x = static_cast<std::int64_t>(shape.input_elements());
  const auto w = static_cast<std::int64_t>(shape.weight_elements());
  const auto y = static_cast<std::int64_t>(shape.output_elements());
  const auto made = [](std::int64_t first, std::int64_t second, std::int64_t result) {
    return PassOperands{shuffled(first, 1), shuffled(second, 2), static_cast<std::size_t>(result)};
  };
  if (pass == Pass::forward) return made(x, w, y);
  return pass == Pass::backward_data ? made(y, w, x) : made(x, y, w);
}

std::vector<float> result_of(ConvolutionPass& pass, const PassOperands& operands) {
  std::vector<float> result(operands.results);
  Guarded scratch(pass.scratch_bytes());
  pass.run(operands.first.data(), operands.second.data(), result.data(), scratch.data());
  return result;
}

TEST(NativeOperation, GivesTheSameAnswerEveryTime) {
  // Of im2col four blocks of three images, of fused Winograd several for each thread.
  const ConvolutionShape shape = shape_of(12, 32, 30, 30, 8, 3, 3, 1, 1);
  for (const Pass pass : convolution_passes) {
    const PassOperands operands = operands_of(shape, pass);
    for (const ConvolutionAlgorithm* algorithm : own_algorithms()) {
      for (const int threads : {2, 4}) {
        const auto made = algorithm->make(shape, pass, threads);
        const std::vector<float> once = result_of(*made, operands);
        const std::vector<float> again = result_of(*made, operands);
        EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0)
            << algorithm->name << " " << pass_name(pass) << ", " << threads << " threads";
      }
    }
  }
}

TEST(OutputPlanes, SumTheGradientOfABias) {
  // 1.0001 and more a pixel of 112 x 112, where every rounding goes the same way.
  const ConvolutionShape shape = shape_of(3, 1, 112, 112, 5, 1, 1, 1, 0);
  const std::int64_t pixels = 112 * 112;
  std::vector<float> dy(static_cast<std::size_t>(3 * 5 * pixels));
  for (std::size_t i = 0; i < dy.size(); ++i) {
    dy[i] = static_cast<float>(i / static_cast<std::size_t>(pixels) % 5) + 1.0001F;
  }
  std::vector<std::vector<float>> gradients;
  for (const int threads : {1, 2, 4}) {
    gradients.emplace_back(5);
    sum_bias(shape, dy.data(), gradients.back().data(), threads);
    for (int k = 0; k < 5; ++k) {
      const double expected =
          3.0 * static_cast<double>(pixels) * static_cast<double>(static_cast<float>(k) + 1.0001F);
      EXPECT_NEAR(gradients.back()[static_cast<std::size_t>(k)], expected, 1e-5 * expected) << k;
    }
    EXPECT_EQ(gradients.back(), gradients.front()) << threads << " threads";
  }
}

TEST(OutputPlanes, SumWhatFillsNoVector) {
  const ConvolutionShape shape = shape_of(2, 1, 1, 19, 2, 1, 1, 1, 0);
  std::vector<float> dy(2 * 2 * 19);
  for (std::size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i);
  std::array<float, 2> gradient{};
  sum_bias(shape, dy.data(), gradient.data(), 2);
  EXPECT_EQ(gradient[0], 18 * 19 / 2 + 38 * 19 + 18 * 19 / 2);
  EXPECT_EQ(gradient[1], 19 * 19 + 18 * 19 / 2 + 57 * 19 + 18 * 19 / 2);
}

TEST(OutputPlanes, AddTheBiasOfTheirChannelAndMask) {
  const ConvolutionShape shape = shape_of(2, 1, 3, 7, 2, 1, 1, 1, 0);
  const std::array<float, 2> bias{1, -1};
  for (const int threads : {1, 3}) {
    std::vector<float> y(2 * 2 * 21, 0.5F);
    add_bias(shape, bias.data(), y.data(), threads);
    const auto channel = [](std::size_t i) { return i / 21 % 2; };
    for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], channel(i) == 0 ? 1.5F : -0.5F) << i;
    std::vector<float> rectified(y.size(), 0.5F);
    add_bias_and_rectify(shape, bias.data(), rectified.data(), threads);
    std::vector<float> dy(y.size(), 2);
    mask_gradient(shape, rectified.data(), dy.data(), threads);
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_EQ(rectified[i], std::max(y[i], 0.0F)) << i;
      EXPECT_EQ(dy[i], channel(i) == 0 ? 2.0F : 0.0F) << i;
    }
    std::vector<float> without(y);
    add_bias_and_rectify(shape, nullptr, without.data(), threads);
    EXPECT_EQ(without, rectified);
  }
}

// Every algorithm, against plain loops.

double largest_error_of(const ConvolutionAlgorithm& algorithm) {
  if (algorithm.name.starts_with("winograd")) return 1e-4;
  return algorithm.name == "im2col" ? 1e-5 : 4e-6;
}

class InstructionSets : public testing::Test {
 protected:
  static void choose_among(std::int64_t targets) {
    hwy::SetSupportedTargetsForTest(targets);
    hwy::GetChosenTarget().DeInit();
  }
  void TearDown() override { choose_among(0); }  // among all
};

TEST_F(InstructionSets, AreAllRight) {
  // Rows of tiles longer than any vector and shorter, channels that fill none.
  const std::array shapes{shape_of(2, 19, 15, 41, 21, 3, 3, 1, 1),
                          shape_of(3, 2, 5, 7, 3, 3, 3, 1, 0),
                          shape_of(5, 3, 13, 12, 9, 3, 3, 1, 1)};
  std::set<std::string> ran;
  for (std::int64_t targets = hwy::SupportedTargets(); targets != 0; targets &= targets - 1) {
    choose_among(targets);  // the best is the lowest bit
    for (const ConvolutionShape& shape : shapes) {
      for (const Pass pass : convolution_passes) {
        const PassData data = pass_data(shape, pass);
        for (const ConvolutionAlgorithm* algorithm : own_algorithms()) {
          const auto made = algorithm->make(shape, pass, 1);
          EXPECT_LT(error_of(*made, data), largest_error_of(*algorithm)) << made->implementation();
          if (!algorithm->name.starts_with("winograd")) continue;
          EXPECT_GT(convolution::vector_floats(made->implementation()), 0);
          ran.insert(made->implementation());
        }
      }
    }
  }
  const bool several = (hwy::SupportedTargets() & HWY_AVX2) != 0;
  EXPECT_GE(ran.size(), several ? 24U : 12U) << "6 algorithms by either filtering, on each set";
}

TEST(FiltersThatWereKept, GiveTheSame) {
  std::set<std::string> keeping;
  for (const ConvolutionShape& shape :
       {shape_of(2, 20, 15, 18, 35, 3, 3, 1, 1, 5), shape_of(1, 130, 9, 40, 140, 3, 3, 1, 1),
        shape_of(5, 6, 19, 23, 10, 5, 5, 1, 2, 2)}) {
    const PassData data = pass_data(shape, Pass::forward);
    for (const ConvolutionAlgorithm* algorithm : own_algorithms()) {
      const bool small = shape.channels < 100;  // the spectra of others are too many
      if (!small && !algorithm->name.starts_with("winograd")) continue;
      if (!refusal_of(*algorithm, shape, Pass::forward).empty()) continue;
      EXPECT_EQ(algorithm->make(shape, Pass::backward_filter, 2)->kept_bytes(), 0U);
      for (const int threads : {1, 3}) {
        const auto made = algorithm->make(shape, Pass::forward, threads);
        if (made->kept_bytes() == 0) continue;
        keeping.insert(algorithm->name);
        Guarded kept(made->kept_bytes());
        Guarded scratch(made->scratch_bytes());
        made->keep(data.second.data(), kept.data(), scratch.data());
        for (const char* run : {"first", "second"}) {
          std::vector<float> result(data.result.size(), NAN);
          made->run_kept(data.first.data(), kept.data(), result.data(), scratch.data());
          EXPECT_LT(relative_error(result, data.result), largest_error_of(*algorithm))
              << algorithm->name << ", " << run;
        }
        EXPECT_TRUE(kept.intact() && scratch.intact()) << algorithm->name;
      }
    }
  }
  EXPECT_EQ(keeping.size(), own_algorithms().size() - 1) << "all but im2col";
}

// The counts of core/convolution agree with the algorithms themselves.

std::vector<ConvolutionShape> work_shapes() {
  std::vector<ConvolutionShape> all;
  for (const char* key : {"convolution c3 h33 w31 k7 r3 s3 stride1 pad1 groups1",
                          "convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1",
                          "convolution c512 h14 w14 k512 r3 s3 stride1 pad1 groups1",
                          "convolution c512 h7 w7 k512 r3 s3 stride1 pad0 groups1",
                          "convolution c64 h12 w12 k96 r3 s3 stride1 pad2 groups2",
                          "convolution c96 h27 w27 k256 r5 s5 stride1 pad2 groups2",
                          "convolution c3 h227 w227 k96 r11 s11 stride4 pad0 groups1",
                          "convolution c256 h14 w14 k1024 r1 s1 stride1 pad0 groups1",
                          "convolution c32 h16 w300 k8 r1 s7 stride1 pad0 groups1",
                          "convolution c16 h40 w40 k8 r33 s33 stride1 pad0 groups1",
                          "convolution c8 h9 w9 k8 r3 s3 stride1 pad3 groups1",
                          "convolution c1 h28 w28 k256 r3 s3 stride1 pad1 groups1",
                          "convolution c2048 h7 w7 k2048 r3 s3 stride1 pad1 groups1"}) {
    for (const int batch : {1, 5, 32}) all.push_back(parse_convolution_key(key, batch)->shape);
  }
  return all;
}

/// Calls visit(shape, pass, algorithm, made; null where it was refused) for all that were built.
template <class Visit>
void for_each_pass(int threads, const Visit& visit) {
  for (const ConvolutionShape& shape : work_shapes()) {
    for (const Pass pass : convolution_passes) {
      for (const ConvolutionAlgorithm* algorithm : all_algorithms()) {
        std::unique_ptr<ConvolutionPass> made;
        try {
          made = algorithm->make(shape, pass, threads);
        } catch (const Unsupported&) {  // the visitor sees that there is none
        }
        visit(shape, pass, algorithm->name, made.get());
      }
    }
  }
}

TEST(DeclaredWork, IsOfEveryAlgorithmOfOurs) {
  std::set<std::string> declared;
  for (const convolution::Method method : convolution::all_methods()) {
    const bool ours = method != convolution::Method::direct && !convolution::by_library(method);
    if (ours) declared.emplace(convolution::method_name(method));
  }
  std::set<std::string> made;
  for (const ConvolutionAlgorithm* algorithm : own_algorithms()) made.insert(algorithm->name);
  EXPECT_EQ(declared, made);
}

/// Refusals, workspaces to the byte, and the names that tell algorithms apart.
TEST(DeclaredWork, IsThatOfTheAlgorithms) {
  for (const int threads : {1, 3}) {
    for_each_pass(threads, [&](const ConvolutionShape& shape, Pass pass, std::string_view name,
                               const ConvolutionPass* made) {
      SCOPED_TRACE(std::string(name) + " " + std::string(pass_name(pass)) + " " + describe(shape));
      const convolution::Method method = convolution::parse_method(name);
      const std::string why = convolution::refusal(method, shape, pass, {.threads = threads});
      EXPECT_EQ(why.empty(), made != nullptr) << why;
      if (made == nullptr) return;
      EXPECT_EQ(convolution::method_of(made->implementation()), method);
      const convolution::AlgorithmWork work = convolution::algorithm_work(
          method, shape, pass,
          {.threads = threads,
           .vector_floats = convolution::vector_floats(made->implementation())});
      EXPECT_EQ(work.workspace.si(), static_cast<double>(made->scratch_bytes()));
    });
  }
}

/// Operations of Σ row[j] x[j], j = first, first + 2, …: additions, and products with other numbers
/// than ±1.
template <std::size_t n>
int dot(const std::array<float, n>& row, std::size_t first) {
  int terms = 0, scaled = 0;
  for (std::size_t j = first; j < n; j += 2) {
    if (row[j] == 0) continue;
    ++terms;
    if (row[j] != 1 && row[j] != -1) ++scaled;
  }
  return terms == 0 ? 0 : terms - 1 + scaled;
}

/// As winograd_transform_inl.hpp goes about it: even and odd terms apart, rows in pairs.
template <std::size_t rows, std::size_t columns>
int expand(const std::array<std::array<float, columns>, rows>& matrix) {
  int sum = dot(matrix[0], 0) + dot(matrix[rows - 1], (columns - 1) % 2);
  for (std::size_t i = 1; i + 1 < rows; i += 2) sum += dot(matrix[i], 0) + dot(matrix[i], 1) + 2;
  return sum;
}

template <std::size_t rows, std::size_t columns>
int contract(const std::array<std::array<float, columns>, rows>& matrix) {
  int sum = 2 * (static_cast<int>(columns) / 2 - 1) + 1;
  for (const auto& row : matrix) sum += dot(row, 1);
  return sum;
}

template <int m>
void expect_counts() {
  using namespace minimal_filtering;
  constexpr int alpha = m + 2;
  const convolution::TransformFlops flops = convolution::our_transform_flops(m);
  EXPECT_EQ(flops.data, expand(rounded(data_matrix<alpha>())) * 2 * alpha) << m;
  EXPECT_EQ(flops.filter, (expand(rounded(filter_matrix<m, 3>())) * (alpha + 3))) << m;
  EXPECT_EQ(flops.output, (contract(rounded(output_matrix<m, 3>())) * (alpha + m))) << m;
  EXPECT_EQ(flops.gradient, (expand(rounded(filter_matrix<3, m>())) * (alpha + m))) << m;
  EXPECT_EQ(flops.filter_gradient, (contract(rounded(output_matrix<3, m>())) * (alpha + 3))) << m;
}

TEST(DeclaredWork, CountsTheOperationsOfTheTransforms) {
  expect_counts<2>();
  expect_counts<4>();
  expect_counts<6>();
}

TEST(DeclaredWork, CountsTheOperationsOfOurLinesOfFft) {
  for (const std::int64_t L : {4, 8, 16, 32, 64, 128, 256}) {
    double flops = 0;
    for (const spectral::Stage& stage : spectral::make_stages(L)) {
      // As butterflies_inl.hpp goes about it; where p is 0 all twiddles are 1.
      const double butterfly = stage.radix == 4 ? 8 * 2 : 2 * 8 * 2 + 8 * 2 + 2 * 4;
      const std::int64_t of_p = stage.n / stage.radix;
      flops += static_cast<double>(of_p * stage.s) * butterfly +
               static_cast<double>((of_p - 1) * stage.s * (stage.radix - 1)) * 6;
    }
    EXPECT_EQ(convolution::line_flops(L), flops) << L;
  }
}

}  // namespace
}  // namespace dlscale::backend::native_device

namespace dlscale::backend {
namespace {

// Filters that a convolution keeps in the form in which it computes with them.

class KeptFilters : public testing::Test {
 protected:
  std::unique_ptr<ComputeDevice> device = family<ComputeBackend>().find("native")->open({});
  OperationSpec spec =
      plain_spec(*device,
                 make_layer(Convolution{.out_channels = 17, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                            {{20, 9, 9}}),
                 2, DType::f32);

  std::unique_ptr<Operation> operation(const std::string& name) {
    for (const Algorithm& algorithm : device->algorithms(spec, Pass::forward)) {
      if (algorithm.name == name) return algorithm.create();
    }
    throw std::logic_error("no algorithm " + name);
  }
};

std::vector<std::string> names_that_keep(ComputeDevice& device, const OperationSpec& spec,
                                         Pass pass) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : device.algorithms(spec, pass)) {
    if (algorithm.name.ends_with("_kept_filters")) names.push_back(algorithm.name);
  }
  return names;
}

void fill(const Tensor& tensor, float value) {
  std::fill_n(tensor.as<float>(), tensor.desc.elements(), value);
}

/// In the middle of an output, where all taps count.
float middle(const OperationMemory& memory) {
  return memory.output().as<float>()[4 * 9 + 4];
}

TEST_F(KeptFilters, AreUsedAgainAsLongAsTheVersionStays) {
  const auto names = names_that_keep(*device, spec, Pass::forward);
  ASSERT_GE(names.size(), 8U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const auto made = operation(name);
    ASSERT_GT(made->kept_bytes(), 0U);
    OperationMemory memory(*device, spec, *made);
    fill(memory.inputs().front(), 1);
    fill(memory.parameters().front(), 1);
    const float products = 20 * 9;
    const auto run = [&](std::uint64_t version) {
      made->run(Pass::forward, memory.operands(0, version));
      return middle(memory);
    };
    EXPECT_NEAR(run(1), products, 1e-2);
    fill(memory.parameters().front(), 2);
    EXPECT_NEAR(run(1), products, 1e-2);  // what was kept, as the caller said that they stay
    EXPECT_NEAR(run(2), 2 * products, 1e-2);
    fill(memory.parameters().front(), 3);
    EXPECT_NEAR(run(0), 3 * products, 1e-2);  // unknown: made anew, and of no use to the next
    fill(memory.parameters().front(), 4);
    EXPECT_NEAR(run(0), 4 * products, 1e-2);
    EXPECT_NEAR(run(2), 4 * products, 1e-2);
    Operands without = memory.operands(0, 2);
    without.kept = nullptr;
    fill(memory.parameters().front(), 5);
    made->run(Pass::forward, without);
    EXPECT_NEAR(middle(memory), 5 * products, 1e-2);
  }
}

TEST_F(KeptFilters, AreNotWhatTrainingUses) {
  EXPECT_EQ(device->create(spec)->kept_bytes(), 0U);
  EXPECT_EQ(operation("winograd_f4")->kept_bytes(), 0U);
  for (const Pass pass : {Pass::backward_data, Pass::backward_filter}) {
    EXPECT_TRUE(names_that_keep(*device, spec, pass).empty()) << pass_name(pass);
  }
}

TEST_F(KeptFilters, AreNamedInWhatRan) {
  const auto made = operation("winograd_f4_kept_filters");
  EXPECT_TRUE(made->implementation(Pass::forward).starts_with("kept filters+winograd F(4x4,3x3)"))
      << made->implementation(Pass::forward);
  EXPECT_TRUE(made->implementation(Pass::backward_data).starts_with("winograd"));
}

TEST_F(KeptFilters, AreRefusedWhereTheirSpectraAreTooLarge) {
  spec = plain_spec(
      *device,
      make_layer(Convolution{.out_channels = 2048, .kernel_h = 3, .kernel_w = 3, .pad = 1},
                 {{2048, 6, 6}}),
      1, DType::f32);
  try {
    (void)operation("fft_kept_filters");
    ADD_FAILURE() << "accepted";
  } catch (const Unsupported& error) {
    EXPECT_NE(std::string(error.what()).find("keeps nothing"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace dlscale::backend
