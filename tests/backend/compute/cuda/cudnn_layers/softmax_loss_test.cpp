#include "backend/compute/cuda/cudnn_layers/softmax_loss.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "backend/compute/check/check.hpp"
#include "tests/backend/compute/cuda/loop_device.hpp"
#include "tests/backend/compute/cuda/loop_launcher.hpp"
#include "tests/backend/compute/layers.hpp"

/// Our kernels around a library's softmax, run by loops on the host, against the reference.
namespace dlscale::backend::cuda {
namespace {

/// In place of the library's.
struct PlainLogSoftmax {
  [[nodiscard]] static std::string name() { return "plain"; }

  void operator()(const Tensor& x, float* logarithms) const {
    const auto [images, classes, height, width] = x.desc.dims;
    with_element(x.desc.dtype, [&]<class T>(T) {
      for (std::int64_t i = 0; i < x.desc.elements(); ++i) {
        logarithms[i] = to_float(x.as<const T>()[i]);
      }
    });
    for (std::int64_t n = 0; n < images; ++n) normalise(logarithms + n * classes, classes);
  }

  static void normalise(float* row, std::int64_t classes) {
    const float largest = *std::max_element(row, row + classes);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(double{row[c]} - double{largest});
    for (std::int64_t c = 0; c < classes; ++c) {
      row[c] = static_cast<float>(double{row[c]} - double{largest} - std::log(sum));
    }
  }
};

OperationSpec loss_spec(const SoftmaxCrossEntropy& kind, int classes, int batch, DType dtype,
                        Order order) {
  return {make_layer(kind, {{classes, 1, 1}}),
          batch,
          dtype,
          {tensor_desc({batch, classes, 1, 1}, dtype, order)}};
}

double loss_tolerance(DType dtype) {
  constexpr double of_sums = 4e-6;
  if (dtype == DType::bf16) return 0x1p-8 + of_sums;
  return dtype == DType::f16 ? 0x1p-11 + of_sums : of_sums;
}

TEST(SoftmaxLoss, GivesTheAnswersOfReference) {
  const auto reference = family<ComputeBackend>().find("reference")->open({});
  for (const Order order : {Order::nchw, Order::nhwc}) {
    const auto device = make_loop_device(order);
    for (const DType dtype : all_dtypes) {
      for (const int classes : {1, 10, 1000}) {
        const SoftmaxCrossEntropy kind{.loss_weight = 0.3};
        const OperationSpec spec = loss_spec(kind, classes, 5, dtype, order);
        SoftmaxLossOperation<LoopLauncher, PlainLogSoftmax> operation({}, {}, spec, order, kind);
        for (const Pass pass : {Pass::forward, Pass::backward_data}) {
          const OperationCheck check =
              check_operation(*device, *reference, spec, operation, pass, 1);
          EXPECT_LE(check.max_relative_error, loss_tolerance(dtype))
              << check.worst << " of " << classes << " classes in " << dtype_name(dtype);
        }
      }
    }
  }
}

TEST(SoftmaxLoss, SaysWhatRuns) {
  const SoftmaxCrossEntropy kind;
  const OperationSpec spec = loss_spec(kind, 10, 2, DType::f32, Order::nhwc);
  const SoftmaxLossOperation<LoopLauncher, PlainLogSoftmax> operation({}, {}, spec, Order::nhwc,
                                                                      kind);
  EXPECT_EQ(operation.implementation(Pass::forward), "plain+own:loss");
  EXPECT_EQ(operation.implementation(Pass::backward_data), "own:loss_gradient");
  EXPECT_FALSE(operation.has(Pass::backward_filter));
}

TEST(SoftmaxLoss, ShowsALabelThatIsNoClass) {
  const std::vector<float> logarithms{-1, -2, -3, -4};
  const std::vector<std::int32_t> labels{2, -1};
  std::vector<float> losses(2);
  const PickedLoss code{logarithms.data(), labels.data(), losses.data(), 2};
  code(0);
  code(1);
  EXPECT_TRUE(std::isnan(losses[0]));
  EXPECT_TRUE(std::isnan(losses[1]));
}

}  // namespace
}  // namespace dlscale::backend::cuda
