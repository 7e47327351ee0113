// What core/lowering says of our algorithms, held against the algorithms themselves.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <string>

#include "backend/compute/native/algorithms.hpp"
#include "backend/compute/native/fft/stages.hpp"
#include "backend/compute/winograd_matrices.hpp"
#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"
#include "core/convolution/work.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"

namespace dlscale::backend::native_device {
namespace {

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
  for (const lowering::Method method : lowering::all_methods()) {
    const bool ours = method != lowering::Method::direct && !lowering::by_library(method);
    if (ours) declared.emplace(lowering::method_name(method));
  }
  std::set<std::string> made;
  for (const ConvolutionAlgorithm* algorithm : own_algorithms()) made.insert(algorithm->name);
  EXPECT_EQ(declared, made);
}

TEST(DeclaredWork, IsToldFromWhatTheAlgorithmsSayOfThemselves) {
  for_each_pass(1, [&](const ConvolutionShape& shape, Pass pass, const std::string& name,
                       const ConvolutionPass* made) {
    if (made == nullptr) return;
    EXPECT_EQ(lowering::method_of(made->implementation()), lowering::parse_method(name))
        << name << " " << pass_name(pass) << " " << describe(shape);
  });
}

TEST(DeclaredWork, RefusesWhatTheAlgorithmsRefuse) {
  for (const int threads : {1, 3}) {
    for_each_pass(threads, [&](const ConvolutionShape& shape, Pass pass, std::string_view name,
                               const ConvolutionPass* made) {
      const std::string why =
          lowering::refusal(lowering::parse_method(name), shape, pass, {.threads = threads});
      EXPECT_EQ(why.empty(), made != nullptr)
          << name << " " << pass_name(pass) << " " << describe(shape) << ": " << why;
    });
  }
}

TEST(DeclaredWork, KnowsTheWorkspaceToTheByte) {
  for (const int threads : {1, 3}) {
    for_each_pass(threads, [&](const ConvolutionShape& shape, Pass pass, std::string_view name,
                               const ConvolutionPass* made) {
      if (made == nullptr) return;
      const lowering::AlgorithmWork work = lowering::algorithm_work(
          lowering::parse_method(name), shape, pass,
          {.threads = threads, .vector_floats = lowering::vector_floats(made->implementation())});
      EXPECT_EQ(work.workspace.si(), static_cast<double>(made->scratch_bytes()))
          << name << " " << pass_name(pass) << " " << describe(shape);
    });
  }
}

TEST(DeclaredWork, RecognisesTheAlgorithmsByTheirWords) {
  for_each_pass(1, [](const ConvolutionShape& shape, Pass /*pass*/, std::string_view name,
                      const ConvolutionPass* made) {
    if (made == nullptr) return;
    EXPECT_EQ(lowering::method_of(made->implementation()), lowering::parse_method(name))
        << made->implementation() << " " << describe(shape);
  });
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
  const lowering::TransformFlops flops = lowering::our_transform_flops(m);
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
    EXPECT_EQ(lowering::line_flops(L), flops) << L;
  }
}

}  // namespace
}  // namespace dlscale::backend::native_device
