#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "backend/compute/cuda/transforms/spectral.hpp"
#include "backend/compute/cuda/transforms/winograd.hpp"
#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"
#include "core/convolution/tile_blocks.hpp"
#include "core/convolution/work.hpp"
#include "tests/backend/compute/cuda/host_tensor.hpp"
#include "tests/backend/compute/cuda/host_transforms.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"
#include "tests/backend/compute/native/plain_convolution.hpp"

/// Convolutions by transforms of ours, run by loops on the host, against plain loops in double.
namespace dlscale::backend::cuda::transforms {
namespace {

using image_tiling::Tiling;
using native_device::Guarded, native_device::pass_data, native_device::relative_error,
    native_device::shape_of;
using Way = TransformedConvolution (*)(const ConvolutionProblem&, Pass);

constexpr std::array passes{Pass::forward, Pass::backward_data, Pass::backward_filter};

template <int m, std::int64_t limit = convolution::device_block_bytes>
TransformedConvolution winograd(const ConvolutionProblem& problem, Pass pass) {
  return {problem,
          pass,
          make_winograd<m>(LoopLauncher(), problem, pass),
          products_on_host(),
          {.block = limit}};
}

/// `batch`: bytes of planes that are transformed together.
template <Tiling tiling, std::int64_t limit = convolution::device_block_bytes,
          std::int64_t batch = convolution::device_batch_bytes>
TransformedConvolution fourier(const ConvolutionProblem& problem, Pass pass) {
  return {problem,
          pass,
          make_spectral(LoopLauncher(), problem, pass, tiling, fourier_on_host(), batch),
          products_on_host(),
          {.block = limit}};
}

ConvolutionProblem problem_of(const ConvolutionShape& shape, DType dtype, Order order) {
  return {.what = "a test",
          .input = {shape.images, shape.channels, shape.height, shape.width},
          .weights = {shape.outputs, shape.channels / shape.groups, shape.kernel_h, shape.kernel_w},
          .output = {shape.images, shape.outputs, shape.out_height, shape.out_width},
          .stride = static_cast<int>(shape.stride),
          .pad = static_cast<int>(shape.pad),
          .groups = static_cast<int>(shape.groups),
          .bias = false,
          .dtype = dtype,
          .order = order};
}

struct Tested {
  DType dtype = DType::f32;
  Order order = Order::nhwc;
};

/// max |a - b| / rms(b) of a pass, with scratch of exactly what it asks for, all of it NaN before.
/// The larger of two runs, of which the second meets scratch as the first left it.
double error_of(Way way, const ConvolutionShape& shape, Pass pass, const Tested& tested) {
  const ConvolutionProblem problem = problem_of(shape, tested.dtype, tested.order);
  const auto data = pass_data(shape, pass, tested.dtype);
  const DType of_weights = pass == Pass::backward_filter ? DType::f32 : tested.dtype;
  HostTensor input(problem.input, tested.dtype, tested.order);
  HostTensor weights(problem.weights, of_weights, tested.order);
  HostTensor output(problem.output, tested.dtype, tested.order);
  (pass == Pass::backward_data ? output : input).set(data.first);
  (pass == Pass::backward_filter ? output : weights).set(data.second);
  HostTensor& result = pass == Pass::forward         ? output
                       : pass == Pass::backward_data ? input
                                                     : weights;
  result.set(Values(data.result.size(), std::nanf("")));
  const TransformedConvolution made = way(problem, pass);
  Guarded scratch(made.scratch_bytes());
  double worst = 0;
  for (int time = 0; time < 2; ++time) {
    made.run({input.tensor().data, weights.tensor().data, output.tensor().data}, scratch.data());
    EXPECT_TRUE(scratch.intact()) << "wrote beyond its scratch";
    worst = std::max(worst, relative_error(result.get(), data.result));
  }
  return worst;
}

ConvolutionShape three(std::int64_t images, std::int64_t channels, std::int64_t height,
                       std::int64_t width, std::int64_t outputs, std::int64_t pad,
                       std::int64_t groups = 1) {
  return shape_of(images, channels, height, width, outputs, 3, 3, 1, pad, groups);
}

std::string describe(const ConvolutionShape& shape) {
  return "N " + std::to_string(shape.images) + ", C " + std::to_string(shape.channels) + ", H " +
         std::to_string(shape.height) + ", W " + std::to_string(shape.width) + ", K " +
         std::to_string(shape.outputs) + ", R " + std::to_string(shape.kernel_h) + ", S " +
         std::to_string(shape.kernel_w) + ", pad " + std::to_string(shape.pad) + ", groups " +
         std::to_string(shape.groups);
}

void expect_agreement(Way way, const ConvolutionShape& shape) {
  for (const Order order : both_orders) {
    for (const Pass pass : passes) {
      EXPECT_LT(error_of(way, shape, pass, {DType::f32, order}), 2e-5)
          << pass_name(pass) << ", " << describe(shape)
          << (order == Order::nchw ? " nchw" : " nhwc");
    }
  }
}

void expect_agreement_of_winograd(const ConvolutionShape& shape) {
  expect_agreement(winograd<2>, shape);
  expect_agreement(winograd<4>, shape);
}

TEST(CudaWinograd, ComputesEveryPassWithAnyPadding) {
  for (const int pad : {0, 1, 2, 3}) expect_agreement_of_winograd(three(2, 3, 12, 16, 4, pad));
}

TEST(CudaWinograd, ComputesMapsThatNoTileFits) {
  expect_agreement_of_winograd(three(1, 2, 13, 7, 3, 0));
  expect_agreement_of_winograd(three(2, 2, 9, 3, 3, 1));
  expect_agreement_of_winograd(three(3, 2, 3, 3, 2, 0));
  expect_agreement_of_winograd(three(3, 2, 1, 2, 2, 2));
}

TEST(CudaWinograd, ComputesAnyNumberOfChannelsAndImages) {
  expect_agreement_of_winograd(three(1, 1, 8, 9, 1, 1));
  expect_agreement_of_winograd(three(3, 17, 5, 6, 1, 1));
  expect_agreement_of_winograd(three(5, 1, 5, 6, 17, 1));
  expect_agreement_of_winograd(three(1, 33, 5, 6, 19, 1));
}

TEST(CudaWinograd, ComputesGroups) {
  expect_agreement_of_winograd(three(2, 6, 9, 10, 4, 1, 2));
  expect_agreement_of_winograd(three(2, 8, 5, 6, 16, 1, 2));
  expect_agreement_of_winograd(three(2, 5, 9, 10, 10, 0, 5));
}

TEST(CudaWinograd, ComputesBlockByBlock) {
  for (const ConvolutionShape& shape : {three(5, 3, 7, 9, 4, 1), three(2, 6, 9, 11, 4, 0, 2)}) {
    expect_agreement(winograd<2, 4096>, shape);
    expect_agreement(winograd<4, 4096>, shape);
  }
}

/// By how much answers may be off: the precision of the layer, or what the transforms make of it.
struct Allowed {
  DType dtype;
  double f2, f4, fft;
};

TEST(CudaTransforms, ErrAsTheirFactorsLetExpect) {
  constexpr std::array all{
      Allowed{DType::f32, 1e-6, 5e-6, 5e-7}, Allowed{DType::tf32, 1e-6, 5e-6, 2e-3},
      Allowed{DType::bf16, 1.5e-2, 2e-2, 1.5e-2}, Allowed{DType::f16, 4e-3, 3e-3, 3e-3}};
  for (const auto& [dtype, f2, f4, fft] : all) {
    EXPECT_LE(std::max({f2, f4, fft}), allowed_error(dtype));
    for (const Pass pass : passes) {
      const ConvolutionShape layer = three(1, 24, 10, 10, 8, 1);
      const Tested tested{dtype, Order::nhwc};
      const auto words = std::string(dtype_name(dtype)) + " " + std::string(pass_name(pass));
      EXPECT_LT(error_of(winograd<2>, layer, pass, tested), f2) << words;
      EXPECT_LT(error_of(winograd<4>, layer, pass, tested), f4) << words;
      EXPECT_LT(error_of(fourier<Tiling::whole>, layer, pass, tested), fft) << words;
    }
  }
}

TEST(CudaTransforms, TakeTheLowerPrecisionsInBothOrders) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    for (const Pass pass : passes) {
      const ConvolutionShape layer = three(2, 3, 7, 6, 5, 1);
      const Tested tested{dtype, Order::nchw};
      EXPECT_LT(error_of(winograd<2>, layer, pass, tested), allowed_error(dtype));
      EXPECT_LT(error_of(winograd<4>, layer, pass, tested), allowed_error(dtype));
      EXPECT_LT(error_of(fourier<Tiling::whole>, layer, pass, tested), allowed_error(dtype));
    }
  }
}

TEST(CudaTransforms, NeedScratchThatIsBounded) {
  for (const Way way : {Way(winograd<2>), Way(winograd<4>), Way(fourier<Tiling::overlap_save>)}) {
    for (const Pass pass : passes) {
      for (const std::int64_t images : {64, 4096}) {
        const auto problem = problem_of(three(images, 64, 56, 56, 64, 1), DType::f32, Order::nhwc);
        EXPECT_LT(way(problem, pass).scratch_bytes(), std::size_t{400} << 20);
      }
    }
  }
}

void expect_refusal(Way way, const ConvolutionShape& shape, const std::string& property) {
  for (const Pass pass : passes) {
    try {
      way(problem_of(shape, DType::f32, Order::nhwc), pass);
      ADD_FAILURE() << property << " is accepted";
    } catch (const Unsupported& error) {
      EXPECT_NE(std::string(error.what()).find(property), std::string::npos) << error.what();
    }
  }
}

TEST(CudaTransforms, RefuseOtherConvolutionsByTheirProperty) {
  const ConvolutionShape strided = shape_of(1, 3, 9, 9, 4, 3, 3, 2, 1);
  const ConvolutionShape large = shape_of(1, 3, 80, 80, 4, 33, 33, 1, 0);
  expect_refusal(winograd<4>, strided, "stride 2");
  expect_refusal(winograd<2>, large, "kernel 33 x 33");
  expect_refusal(winograd<2>, three(1, 33, 9, 9, 33, 1, 33), "33 groups");
  expect_refusal(winograd<4>, three(1, 4096, 9, 9, 4096, 1), "2304 MiB");
  expect_refusal(fourier<Tiling::whole>, strided, "stride 2");
  expect_refusal(fourier<Tiling::whole>, three(1, 3, 299, 299, 4, 1), "300 points");
  expect_refusal(fourier<Tiling::overlap_save>, large, "kernel 33 x 33");
  expect_refusal(fourier<Tiling::whole>, three(1, 1024, 62, 62, 1024, 1), "the filters");
}

/// To find the fastest product takes longer than to find that there is no room for it.
TEST(CudaTransforms, RefuseTooMuchScratchBeforeTheyMakeProducts) {
  const auto problem = problem_of(three(1, 256, 28, 28, 256, 1), DType::f32, Order::nhwc);
  const std::size_t needed = winograd<4>(problem, Pass::forward).scratch_bytes();
  int made = 0;
  const auto make = [&](const BatchedProblem& products) {
    ++made;
    return products_on_host()(products);
  };
  const auto with_limit = [&](std::size_t most) {
    return TransformedConvolution(problem, Pass::forward,
                                  make_winograd<4>(LoopLauncher(), problem, Pass::forward), make,
                                  {.scratch = most});
  };
  EXPECT_THROW(with_limit(needed / 2), Unsupported);
  EXPECT_EQ(made, 0);
  EXPECT_LE(with_limit(needed).scratch_bytes(), needed);
  EXPECT_EQ(made, 1);
}

TEST(CudaTransforms, SayWhatRuns) {
  const auto problem = problem_of(three(1, 3, 9, 9, 4, 1), DType::f32, Order::nhwc);
  EXPECT_EQ(winograd<4>(problem, Pass::forward).name(), "winograd_f4 F(4x4,3x3) loops");
  EXPECT_EQ(winograd<4>(problem, Pass::backward_filter).name(), "winograd_f4 F(3x3,4x4) loops");
  EXPECT_EQ(fourier<Tiling::whole>(problem, Pass::forward).name(), "fft 10x10 loops loops");
}

TEST(CudaTransforms, SaveOperationsWhereTheyShould) {
  const auto saving = [](const ConvolutionShape& shape, const auto& operations) {
    const auto products = static_cast<double>(shape.images * shape.out_height * shape.out_width *
                                              shape.outputs * shape.channels);
    const auto taps = static_cast<double>(shape.kernel_h * shape.kernel_w);
    return 2 * products * taps / operations(problem_of(shape, DType::f32, Order::nhwc));
  };
  const auto f4 = [](const ConvolutionProblem& problem) {
    return winograd_operations(winograd_shape(problem, Pass::forward, 4), 4);
  };
  const auto fft = [](const ConvolutionProblem& problem) {
    return spectral_operations(problem, whole_shape(problem, Pass::forward));
  };
  const ConvolutionShape deep = three(64, 512, 28, 28, 512, 1);
  EXPECT_NEAR(saving(deep, f4), 4, 0.4);
  EXPECT_LT(saving(three(64, 3, 224, 224, 4, 1), f4), 1);
  EXPECT_GT(saving(shape_of(64, 96, 27, 27, 256, 5, 5, 1, 2), fft), 4);
  EXPECT_LT(saving(shape_of(64, 64, 56, 56, 64, 1, 1, 1, 0), fft), 1);
}

// ------------------------------------------------------------------- what core/convolution says of
// them

/// What the libraries are given to do in a run.
struct Given {
  double products = 0;    ///< operations
  double transforms = 0;  ///< planes
};

class CountedProduct final : public BatchedProduct {
 public:
  CountedProduct(const BatchedProblem& problem, Given& given)
      : made_(products_on_host()(problem)), given_(&given) {
    const std::int64_t depth =
        problem.left.form == Form::plain ? problem.left.columns : problem.left.rows;
    operations_ =
        (problem.number == Number::real ? 2.0 : 8.0) *
        static_cast<double>(problem.count * problem.result.rows * problem.result.columns * depth);
  }
  [[nodiscard]] std::string name() const override { return made_->name(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return made_->scratch_bytes(); }
  void run(const float* left, const float* right, float* result, Sum sum,
           std::byte* scratch) const override {
    given_->products += operations_;
    made_->run(left, right, result, sum, scratch);
  }

 private:
  std::unique_ptr<BatchedProduct> made_;
  Given* given_;
  double operations_;
};

class CountedFourier final : public FourierTransform {
 public:
  CountedFourier(const FourierProblem& problem, Given& given)
      : made_(fourier_on_host()(problem)), planes_(problem.planes), given_(&given) {}
  [[nodiscard]] std::string name() const override { return made_->name(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return made_->scratch_bytes(); }
  void forward(const float* planes, Complex* spectra, std::byte* scratch) override {
    given_->transforms += static_cast<double>(planes_);
    made_->forward(planes, spectra, scratch);
  }
  void inverse(Complex* spectra, float* planes, std::byte* scratch) override {
    given_->transforms += static_cast<double>(planes_);
    made_->inverse(spectra, planes, scratch);
  }

 private:
  std::unique_ptr<FourierTransform> made_;
  std::int64_t planes_;
  Given* given_;
};

TransformedConvolution counted(convolution::Method method, const ConvolutionProblem& problem,
                               Pass pass, Given& given) {
  const auto transforms = [&]() -> std::unique_ptr<const Transforms> {
    if (method == convolution::Method::winograd_f2) {
      return make_winograd<2>(LoopLauncher(), problem, pass);
    }
    if (method == convolution::Method::winograd_f4) {
      return make_winograd<4>(LoopLauncher(), problem, pass);
    }
    const auto make = [&given](const FourierProblem& fourier) {
      return std::make_unique<CountedFourier>(fourier, given);
    };
    return make_spectral(LoopLauncher(), problem, pass,
                         method == convolution::Method::fft ? Tiling::whole : Tiling::overlap_save,
                         make);
  };
  return {problem, pass, transforms(), [&given](const BatchedProblem& products) {
            return std::make_unique<CountedProduct>(products, given);
          }};
}

double flops_of(const convolution::AlgorithmWork& work, std::string_view word) {
  double sum = 0;
  for (const convolution::Stage& stage : work.stages) {
    if (stage.name.find(word) != std::string_view::npos) sum += stage.flops.si();
  }
  return sum;
}

constexpr std::array methods_on_device{convolution::Method::winograd_f2,
                                       convolution::Method::winograd_f4, convolution::Method::fft,
                                       convolution::Method::fft_tiled};

TEST(DeclaredDeviceWork, IsWhatRuns) {
  for (const ConvolutionShape& shape :
       {three(2, 5, 9, 7, 3, 1), three(3, 6, 12, 8, 4, 0, 2), three(1, 4, 37, 6, 2, 3)}) {
    const ConvolutionProblem problem = problem_of(shape, DType::f32, Order::nhwc);
    for (const convolution::Method method : methods_on_device) {
      for (const Pass pass : passes) {
        const auto work = convolution::algorithm_work(method, shape, pass,
                                                      {.blocking = convolution::Blocking::device});
        Given given;
        const TransformedConvolution made = counted(method, problem, pass, given);
        const std::string what = made.name() + " " + std::string(pass_name(pass));
        EXPECT_EQ(convolution::method_of("own " + made.name()), method) << what;
        EXPECT_EQ(work.workspace.si(), static_cast<double>(made.scratch_bytes())) << what;
        HostTensor input(problem.input, DType::f32, problem.order);
        HostTensor weights(problem.weights, DType::f32, problem.order);
        HostTensor output(problem.output, DType::f32, problem.order);
        Guarded scratch(made.scratch_bytes());
        made.run({input.tensor().data, weights.tensor().data, output.tensor().data},
                 scratch.data());
        EXPECT_DOUBLE_EQ(flops_of(work, "product"), given.products) << what;
        if (given.transforms == 0) continue;
        const std::int64_t L = method == convolution::Method::fft ? whole_shape(problem, pass).L
                                                                  : tiled_shape(problem, pass).L;
        EXPECT_DOUBLE_EQ(flops_of(work, "transforms"),
                         given.transforms * convolution::transform_flops(L))
            << what;
      }
    }
  }
}

TEST(DeclaredDeviceWork, CutsBatchesIntoBlocksAsTheyAreRun) {
  // 3.6 GB of transformed tiles a pass: only counted, not run.
  const ConvolutionShape shape = three(64, 256, 56, 56, 256, 1);
  const ConvolutionProblem problem = problem_of(shape, DType::f32, Order::nhwc);
  for (const convolution::Method method : methods_on_device) {
    for (const Pass pass : passes) {
      const auto work = convolution::algorithm_work(method, shape, pass,
                                                    {.blocking = convolution::Blocking::device});
      Given given;
      EXPECT_EQ(work.workspace.si(),
                static_cast<double>(counted(method, problem, pass, given).scratch_bytes()));
    }
  }
}

/// Additions, and products with other numbers than ±1, of M x and then of M X Mᵀ.
template <class M>
double operations_of() {
  double sum = 0;
  for (int row = 0; row < M::rows; ++row) {
    int terms = 0;
    for (int column = 0; column < M::columns; ++column) {
      const float c = M::at(row, column);
      if (c == 0) continue;
      ++terms;
      if (c != 1 && c != -1) sum += 1;
    }
    sum += terms - 1;
  }
  return sum * (M::rows + M::columns);
}

template <int m>
void expect_counts() {
  const convolution::TransformFlops flops = convolution::device_transform_flops(m);
  EXPECT_EQ(flops.data, operations_of<DataMatrix<m + 2>>()) << m;
  EXPECT_EQ(flops.filter, (operations_of<FilterMatrix<m, 3>>())) << m;
  EXPECT_EQ(flops.output, (operations_of<OutputMatrix<m, 3>>())) << m;
  EXPECT_EQ(flops.gradient, (operations_of<FilterMatrix<3, m>>())) << m;
  EXPECT_EQ(flops.filter_gradient, (operations_of<OutputMatrix<3, m>>())) << m;
}

TEST(DeclaredDeviceWork, CountsTheOperationsOfTheTransforms) {
  expect_counts<2>();
  expect_counts<4>();
}

void expect_agreement_of_fft(const ConvolutionShape& shape) {
  expect_agreement(fourier<Tiling::whole>, shape);
  expect_agreement(fourier<Tiling::overlap_save>, shape);
}

TEST(CudaFft, ComputesEveryPassWithAnyPadding) {
  for (const int pad : {0, 1, 2, 4}) expect_agreement_of_fft(three(2, 3, 6, 9, 4, pad));
}

TEST(CudaFft, ComputesAnyKernel) {
  expect_agreement_of_fft(shape_of(1, 3, 11, 8, 2, 5, 5, 1, 2));
  expect_agreement_of_fft(shape_of(2, 2, 9, 12, 3, 1, 1, 1, 0));
  expect_agreement_of_fft(shape_of(2, 3, 8, 6, 2, 3, 1, 1, 0));
  expect_agreement_of_fft(shape_of(1, 2, 12, 12, 2, 11, 11, 1, 5));
}

TEST(CudaFft, ComputesSeveralTilesAnImage) {
  expect_agreement(fourier<Tiling::overlap_save>, three(2, 2, 33, 40, 3, 1));
  expect_agreement(fourier<Tiling::overlap_save>, shape_of(1, 2, 37, 12, 3, 5, 3, 1, 2));
}

TEST(CudaFft, ComputesBlockByBlockAndBatchByBatch) {
  expect_agreement(fourier<Tiling::whole, 8192, 8192>, three(5, 3, 6, 5, 4, 1));
  expect_agreement(fourier<Tiling::overlap_save, 16384, 4096>, three(2, 4, 30, 9, 2, 1, 2));
}

TEST(CudaFft, ComputesAnyNumberOfChannelsAndGroups) {
  expect_agreement_of_fft(three(1, 1, 6, 5, 1, 1));
  expect_agreement_of_fft(three(3, 17, 5, 6, 1, 1));
  expect_agreement_of_fft(three(1, 35, 4, 5, 33, 1));
  expect_agreement_of_fft(three(2, 6, 6, 5, 4, 1, 2));
}

}  // namespace
}  // namespace dlscale::backend::cuda::transforms
