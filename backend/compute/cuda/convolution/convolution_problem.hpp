#pragma once
#include <cstddef>
#include <string>

#include "backend/compute/cuda/runtime/order.hpp"
#include "backend/compute/specification.hpp"
#include "core/network/convolution_shape.hpp"

namespace dlscale::backend::cuda {

/// A convolution as the libraries take it: N × C × H × W to N × K × P × Q with weights K × C/groups
/// × R × S. All tensors have one order; the gradients of weights and bias are f32.
struct ConvolutionProblem {
  std::string what;  ///< the layer with its shapes, for messages
  Dims input{};
  Dims weights{};
  Dims output{};
  int stride = 1;
  int pad = 0;
  int groups = 1;
  bool bias = false;
  bool relu = false;  ///< Layer::relu
  DType dtype = DType::f32;
  Order order = Order::nhwc;
};

ConvolutionProblem problem_of(const OperationSpec& spec, const Convolution& kind, Order order);

/// The sizes of the convolution alone.
ConvolutionShape shape_of(const ConvolutionProblem& problem);

/// Key that is equal for problems that differ only in `what`.
std::string key_of(const ConvolutionProblem& problem);

}  // namespace dlscale::backend::cuda
