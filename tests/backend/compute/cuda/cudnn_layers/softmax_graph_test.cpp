#include <gtest/gtest.h>

#include "backend/compute/cuda/cudnn_layers/graph_parts.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "tests/backend/compute/cuda/cudnn_layers/driver_library.hpp"
#include "tests/backend/compute/cuda/described_gpus.hpp"

/// Why the loss takes cudnnSoftmaxForward: no engine of this cuDNN takes a softmax as one graph.
namespace dlscale::backend::cuda {
namespace {

constexpr Dims numbers{256, 1000, 1, 1};
constexpr Dims one_an_image{256, 1, 1, 1};

/// Writes a softmax as its definition has it: exp(x - max) / Σ exp(x - max).
class SoftmaxGraph {
 public:
  enum class Upto { sum, quotient };

  Graph build(const Target& target, Upto upto) && {
    const std::size_t x = parts_.tensor(TensorId{1}, numbers, CUDNN_DATA_BFLOAT16);
    std::size_t largest = 0;
    if (upto == Upto::sum) {
      largest = parts_.tensor(TensorId{2}, one_an_image, CUDNN_DATA_FLOAT);
    } else {
      largest = between(TensorId{2}, one_an_image);
      reduce(CUDNN_REDUCE_TENSOR_MAX, x, largest);
    }
    const std::size_t difference = between(TensorId{3}, numbers);
    combine(CUDNN_POINTWISE_SUB, x, largest, difference);
    const std::size_t power = between(TensorId{4}, numbers);
    exponentiate(difference, power);
    if (upto == Upto::sum) {
      reduce(CUDNN_REDUCE_TENSOR_ADD, power,
             parts_.tensor(TensorId{5}, one_an_image, CUDNN_DATA_FLOAT));
    } else {
      const std::size_t sum = between(TensorId{5}, one_an_image);
      reduce(CUDNN_REDUCE_TENSOR_ADD, power, sum);
      combine(CUDNN_POINTWISE_DIV, power, sum,
              parts_.tensor(TensorId{6}, numbers, CUDNN_DATA_BFLOAT16));
    }
    return std::move(parts_).graph(target);
  }

 private:
  /// A tensor that lies nowhere.
  std::size_t between(TensorId id, const Dims& dims) {
    const auto strides = cuda::strides(dims, Order::nhwc);
    Descriptor part = parts_.descriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    part.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id));
    part.set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_DATA_FLOAT);
    part.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, std::int64_t{16});
    part.set_list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    part.set_list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, strides);
    part.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    return parts_.keep(std::move(part));
  }

  Descriptor pointwise(cudnnPointwiseMode_t mode, std::size_t x, std::size_t y) {
    Descriptor function = parts_.descriptor(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
    function.set(CUDNN_ATTR_POINTWISE_MODE, mode);
    function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    const std::size_t kept = parts_.keep(std::move(function));
    Descriptor part = parts_.descriptor(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_[kept]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_[x]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[y]);
    return part;
  }

  void exponentiate(std::size_t x, std::size_t y) {
    parts_.operate(pointwise(CUDNN_POINTWISE_EXP, x, y));
  }

  void combine(cudnnPointwiseMode_t mode, std::size_t x, std::size_t b, std::size_t y) {
    Descriptor part = pointwise(mode, x, y);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts_[b]);
    parts_.operate(std::move(part));
  }

  void reduce(cudnnReduceTensorOp_t by, std::size_t x, std::size_t y) {
    Descriptor reduction = parts_.descriptor(CUDNN_BACKEND_REDUCTION_DESCRIPTOR);
    reduction.set(CUDNN_ATTR_REDUCTION_OPERATOR, by);
    reduction.set(CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    const std::size_t kept = parts_.keep(std::move(reduction));
    Descriptor part = parts_.descriptor(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_REDUCTION_DESC, parts_[kept]);
    part.set(CUDNN_ATTR_OPERATION_REDUCTION_XDESC, parts_[x]);
    part.set(CUDNN_ATTR_OPERATION_REDUCTION_YDESC, parts_[y]);
    parts_.operate(std::move(part));
  }

  GraphParts parts_{"a softmax", Order::nhwc};
};

std::size_t recommendations(SoftmaxGraph::Upto upto) {
  return recommended(SoftmaxGraph().build(described_target(h200()), upto)).size();
}

TEST(SoftmaxGraph, HasEnginesForItsSumButNotForTheWhole) {
  if (cudnnGetVersion() != 91900) GTEST_SKIP() << "known of cuDNN 9.19.0 only";
  if (!load_driver_library()) GTEST_SKIP() << "no library of a driver";
  EXPECT_GT(recommendations(SoftmaxGraph::Upto::sum), 0U);
  EXPECT_EQ(recommendations(SoftmaxGraph::Upto::quotient), 0U);
}

}  // namespace
}  // namespace dlscale::backend::cuda
