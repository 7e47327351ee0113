#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/cuda/transforms/spectral.hpp"
#include "backend/compute/cuda/transforms/spectral_shape.hpp"
#include "backend/compute/cuda/transforms/winograd.hpp"
#include "tests/backend/compute/cuda/host_tensor.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"
#include "tests/backend/compute/cuda/on_gpu.hpp"
#include "tests/backend/compute/layers.hpp"

/// The kernels of our convolutions by transforms on a GPU against the same code run by loops on the
/// host. What libraries do between them is left to conformance_test, which runs every algorithm.
namespace dlscale::backend::cuda::transforms {
namespace {

using image_tiling::Tiling;

/// In place of a Fourier transform, the points themselves: half of the spectrum is more than half
/// of the points, of which the first are kept.
class Copies : public FourierTransform {
 public:
  explicit Copies(const FourierProblem& problem)
      : points_(problem.planes * problem.L * problem.L),
        rest_(2 * problem.planes * frequencies(problem.L) - points_) {}
  [[nodiscard]] std::string name() const override { return "copies"; }
  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }

  void forward(const float* planes, Complex* spectra, std::byte* /*scratch*/) override {
    auto* const to = reinterpret_cast<float*>(spectra);
    copy(planes, to, points_);
    copy(planes, to + points_, rest_);
  }
  void inverse(Complex* spectra, float* planes, std::byte* /*scratch*/) override {
    copy(reinterpret_cast<const float*>(spectra), planes, points_);
  }

 private:
  virtual void copy(const float* from, float* to, std::int64_t floats) const = 0;

  std::int64_t points_;
  std::int64_t rest_;  ///< of the spectra
};

class CopiesHere final : public Copies {
 public:
  using Copies::Copies;

 private:
  void copy(const float* from, float* to, std::int64_t floats) const override {
    std::copy_n(from, floats, to);
  }
};

class CopiesThere final : public Copies {
 public:
  using Copies::Copies;

 private:
  void copy(const float* from, float* to, std::int64_t floats) const override {
    check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(floats) * sizeof(float),
                          cudaMemcpyDeviceToDevice, nullptr),
          "cudaMemcpyAsync", "a test");
  }
};

template <class Made>
std::unique_ptr<FourierTransform> make_copies(const FourierProblem& problem) {
  return std::make_unique<Made>(problem);
}

/// The same bytes on the host and on the GPU.
class Twin {
 public:
  explicit Twin(std::vector<std::byte> bytes)
      : here_(std::move(bytes)), there_(here_.data(), here_.size()) {}
  /// Numbers about 0.
  static Twin of_floats(std::int64_t count, unsigned seed) {
    const Values values = shuffled(count, seed);
    const auto* const first = reinterpret_cast<const std::byte*>(values.data());
    return Twin({first, first + values.size() * sizeof(float)});
  }
  static Twin of_tensor(const Dims& dims, DType dtype, Order order, unsigned seed) {
    HostTensor tensor(dims, dtype, order);
    tensor.set(shuffled(tensor.tensor().desc.elements(), seed));
    const std::byte* const first = tensor.tensor().data;
    return Twin({first, first + tensor.tensor().desc.layout.bytes});
  }

  [[nodiscard]] std::byte* here() { return here_.data(); }
  [[nodiscard]] std::byte* there() const { return there_.get(); }
  template <class T>
  [[nodiscard]] T* here_as() {
    return reinterpret_cast<T*>(here());
  }
  template <class T>
  [[nodiscard]] T* there_as() const {
    return reinterpret_cast<T*>(there());
  }

  /// Of numbers of T, whose last place is `unit` of them.
  template <class T>
  void expect_near(float unit) const {
    const std::vector<T> got = there_.read<T>();
    const auto* const here = reinterpret_cast<const T*>(here_.data());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const float expected = to_float(here[i]);
      ASSERT_NEAR(to_float(got[i]), expected, unit * std::max(1.0F, std::abs(expected)));
    }
  }

 private:
  std::vector<std::byte> here_;
  Area there_;
};

struct Pair {
  std::unique_ptr<const Transforms> here, there;
};

constexpr float unit_of(DType dtype) {
  if (dtype == DType::bf16) return 0x1p-7F;
  return dtype == DType::f16 ? 0x1p-9F : 2e-5F;
}

/// Every transform of a pass, of tiles in two blocks of which the last is not full.
template <class T>
void expect_twins(const Pair& pair, const ConvolutionProblem& problem, Pass pass) {
  const Transforms& here = *pair.here;
  const Transforms& there = *pair.there;
  const std::int64_t floats =
      static_cast<std::int64_t>(number_bytes(here.number()) / sizeof(float));
  const std::int64_t size = (here.tiles() / 2 / 4 + 1) * 4;
  const auto transformed = [&](std::int64_t rows, std::int64_t columns) {
    return Twin::of_floats(here.points() * rows * columns * floats, 5);
  };
  Twin input = Twin::of_tensor(problem.input, problem.dtype, problem.order, 1);
  Twin output = Twin::of_tensor(problem.output, problem.dtype, problem.order, 2);
  Twin weights = Twin::of_tensor(problem.weights, problem.dtype, problem.order, 3);
  Twin gradient = Twin::of_tensor(problem.weights, DType::f32, problem.order, 4);
  Twin filters = transformed(problem.weights[0], problem.weights[1]);
  Twin of_input = transformed(size, problem.input[1]);
  Twin of_output = transformed(size, problem.output[1]);
  Twin scratch = Twin::of_floats(static_cast<std::int64_t>(here.scratch_bytes() / 4 + 64), 6);
  const bool turned = pass == Pass::backward_data;
  Twin& read = turned ? output : input;
  Twin& of_read = turned ? of_output : of_input;
  Twin& written = turned ? input : output;
  Twin& of_written = turned ? of_input : of_output;
  const float unit = unit_of(problem.dtype);
  for (const std::int64_t first : {std::int64_t{0}, size}) {
    const TileBlock block{first, size};
    here.read_tiles(read.here(), block, of_read.here_as<float>(), scratch.here());
    there.read_tiles(read.there(), block, of_read.there_as<float>(), scratch.there());
    of_read.expect_near<float>(2e-5F);
    if (pass == Pass::backward_filter) {
      here.read_gradients(written.here(), block, of_written.here_as<float>(), scratch.here());
      there.read_gradients(written.there(), block, of_written.there_as<float>(), scratch.there());
      of_written.expect_near<float>(2e-5F);
    } else {
      here.write_tiles(of_written.here_as<float>(), block, written.here(), scratch.here());
      there.write_tiles(of_written.there_as<float>(), block, written.there(), scratch.there());
      written.expect_near<T>(unit);
    }
  }
  if (pass == Pass::backward_filter) {
    here.write_filters(filters.here_as<float>(), gradient.here(), scratch.here());
    there.write_filters(filters.there_as<float>(), gradient.there(), scratch.there());
    gradient.expect_near<float>(2e-5F);
  } else {
    here.read_filters(weights.here(), filters.here_as<float>(), scratch.here());
    there.read_filters(weights.there(), filters.there_as<float>(), scratch.there());
    filters.expect_near<float>(2e-5F);
  }
}

class TransformKernelsOnDevice : public OnGpu<InDTypeAndOrder> {
 protected:
  /// Maps that no tile fits, channels that no square of a team fits.
  [[nodiscard]] ConvolutionProblem problem() const {
    return {.what = "a test",
            .input = {3, 6, 13, 10},
            .weights = {38, 6, 3, 3},
            .output = {3, 38, 13, 10},
            .stride = 1,
            .pad = 1,
            .groups = 1,
            .bias = false,
            .dtype = dtype_,
            .order = order_};
  }

  void expect_twins_of(const Pair& pair, Pass pass) const {
    with_element(problem().dtype, [&]<class T>(T) { expect_twins<T>(pair, problem(), pass); });
  }

  template <int m>
  void expect_twins_of_winograd() const {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
      expect_twins_of({make_winograd<m>(LoopLauncher(), problem(), pass),
                       winograd_on_device<m>(context_, problem(), pass)},
                      pass);
    }
  }
};

TEST_P(TransformKernelsOnDevice, ComputeWinogradAsOnTheHost) {
  expect_twins_of_winograd<2>();
  expect_twins_of_winograd<4>();
}

TEST_P(TransformKernelsOnDevice, LayPlanesAsOnTheHost) {
  for (const Tiling tiling : {Tiling::whole, Tiling::overlap_save}) {
    for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
      expect_twins_of(
          {make_spectral(LoopLauncher(), problem(), pass, tiling, make_copies<CopiesHere>),
           spectral_on_device(context_, problem(), pass, tiling, make_copies<CopiesThere>)},
          pass);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, TransformKernelsOnDevice,
                         testing::Combine(testing::Values(DType::f32, DType::bf16, DType::f16),
                                          testing::ValuesIn(both_orders)),
                         InDTypeAndOrder::name);

}  // namespace
}  // namespace dlscale::backend::cuda::transforms
