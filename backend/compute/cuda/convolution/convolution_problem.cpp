#include "backend/compute/cuda/convolution/convolution_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace dlscale::backend::cuda {

ConvolutionProblem problem_of(const OperationSpec& spec, const Convolution& kind, Order order) {
  return {.what = describe(spec),
          .input = spec.inputs.front().dims,
          .weights = weight_dims(spec),
          .output = output_dims(spec),
          .stride = kind.stride,
          .pad = kind.pad,
          .groups = kind.groups,
          .bias = kind.bias,
          .relu = spec.layer.relu,
          .dtype = spec.dtype,
          .order = order};
}

ConvolutionShape shape_of(const ConvolutionProblem& problem) {
  return {.images = problem.input[0],
          .channels = problem.input[1],
          .height = problem.input[2],
          .width = problem.input[3],
          .outputs = problem.output[1],
          .out_height = problem.output[2],
          .out_width = problem.output[3],
          .kernel_h = problem.weights[2],
          .kernel_w = problem.weights[3],
          .stride = problem.stride,
          .pad = problem.pad,
          .groups = problem.groups};
}

std::string key_of(const ConvolutionProblem& problem) {
  return fmt::format("{} {} {} stride{} pad{} groups{} bias{} relu{} {} {}",
                     fmt::join(problem.input, "x"), fmt::join(problem.weights, "x"),
                     fmt::join(problem.output, "x"), problem.stride, problem.pad, problem.groups,
                     problem.bias ? 1 : 0, problem.relu ? 1 : 0, dtype_name(problem.dtype),
                     problem.order == Order::nhwc ? "nhwc" : "nchw");
}

}  // namespace dlscale::backend::cuda
