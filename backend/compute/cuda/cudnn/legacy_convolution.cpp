#include "backend/compute/cuda/cudnn/legacy_convolution.hpp"

#include <cudnn.h>
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "backend/compute/cuda/cudnn/convolution_extras.hpp"
#include "backend/compute/cuda/cudnn/graph.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr std::array<std::string_view, CUDNN_CONVOLUTION_FWD_ALGO_COUNT> forward_names{
    "IMPLICIT_GEMM", "IMPLICIT_PRECOMP_GEMM", "GEMM", "DIRECT", "FFT", "FFT_TILING",
    "WINOGRAD",      "WINOGRAD_NONFUSED"};
constexpr std::array<std::string_view, CUDNN_CONVOLUTION_BWD_DATA_ALGO_COUNT> backward_data_names{
    "ALGO_0", "ALGO_1", "FFT", "FFT_TILING", "WINOGRAD", "WINOGRAD_NONFUSED"};
constexpr std::array<std::string_view, CUDNN_CONVOLUTION_BWD_FILTER_ALGO_COUNT>
    backward_filter_names{"ALGO_0",    "ALGO_1", "FFT", "ALGO_3", "WINOGRAD", "WINOGRAD_NONFUSED",
                          "FFT_TILING"};

std::span<const std::string_view> names_of(Pass pass) {
  if (pass == Pass::forward) return forward_names;
  if (pass == Pass::backward_data) return backward_data_names;
  EXPECT(pass == Pass::backward_filter);
  return backward_filter_names;
}

using LegacyTensor = Owner<cudnnTensorDescriptor_t, cudnnDestroyTensorDescriptor>;
using FilterDescriptor = Owner<cudnnFilterDescriptor_t, cudnnDestroyFilterDescriptor>;
using GeometryDescriptor = Owner<cudnnConvolutionDescriptor_t, cudnnDestroyConvolutionDescriptor>;

int legacy_size(std::int64_t size) {
  EXPECT(size <= std::numeric_limits<int>::max());
  return static_cast<int>(size);
}

cudnnTensorFormat_t legacy_format(Order order) {
  return order == Order::nhwc ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
}

LegacyTensor tensor(const Dims& dims, const ConvolutionProblem& problem) {
  cudnnTensorDescriptor_t raw = nullptr;
  check(cudnnCreateTensorDescriptor(&raw), "cudnnCreateTensorDescriptor", problem.what);
  LegacyTensor made(raw);
  check(cudnnSetTensor4dDescriptor(raw, legacy_format(problem.order), data_type(problem.dtype),
                                   legacy_size(dims[0]), legacy_size(dims[1]), legacy_size(dims[2]),
                                   legacy_size(dims[3])),
        "cudnnSetTensor4dDescriptor", problem.what);
  return made;
}

FilterDescriptor filter(const ConvolutionProblem& problem) {
  const Dims& dims = problem.weights;
  cudnnFilterDescriptor_t raw = nullptr;
  check(cudnnCreateFilterDescriptor(&raw), "cudnnCreateFilterDescriptor", problem.what);
  FilterDescriptor made(raw);
  check(cudnnSetFilter4dDescriptor(raw, data_type(problem.dtype), legacy_format(problem.order),
                                   legacy_size(dims[0]), legacy_size(dims[1]), legacy_size(dims[2]),
                                   legacy_size(dims[3])),
        "cudnnSetFilter4dDescriptor", problem.what);
  return made;
}

/// FMA forbids tensor cores, the default allows tf32 for tensors of f32.
cudnnMathType_t math_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return CUDNN_FMA_MATH;
    case DType::tf32:
      return CUDNN_DEFAULT_MATH;
    case DType::bf16:
    case DType::f16:
      return CUDNN_TENSOR_OP_MATH;
  }
  fail_expectation("a known DType");
}

GeometryDescriptor geometry(const ConvolutionProblem& problem) {
  cudnnConvolutionDescriptor_t raw = nullptr;
  check(cudnnCreateConvolutionDescriptor(&raw), "cudnnCreateConvolutionDescriptor", problem.what);
  GeometryDescriptor made(raw);
  check(
      cudnnSetConvolution2dDescriptor(raw, problem.pad, problem.pad, problem.stride, problem.stride,
                                      1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
      "cudnnSetConvolution2dDescriptor", problem.what);
  check(cudnnSetConvolutionGroupCount(raw, problem.groups), "cudnnSetConvolutionGroupCount",
        problem.what);
  check(cudnnSetConvolutionMathType(raw, math_type(problem.dtype)), "cudnnSetConvolutionMathType",
        problem.what);
  return made;
}

/// The library writes the weight gradient in the precision of the operation.
GraphForm form_of(const ConvolutionProblem& problem, Pass pass) {
  const bool low = pass == Pass::backward_filter && element_bytes(problem.dtype) < sizeof(float);
  return {.pass = pass, .weight_gradient = low ? GradientPrecision::low : GradientPrecision::f32};
}

class LegacyPass final : public ConvolutionPass {
 public:
  LegacyPass(const Context& context, const ConvolutionProblem& problem, Pass pass, int algorithm)
      : handle_(context.cudnn),
        problem_(problem),
        pass_(pass),
        algorithm_(algorithm),
        input_(tensor(problem.input, problem)),
        output_(tensor(problem.output, problem)),
        weights_(filter(problem)),
        geometry_(geometry(problem)),
        extras_(context, problem, form_of(problem, pass)),
        workspace_bytes_(ask_workspace()) {}

  [[nodiscard]] std::string name() const override {
    return fmt::format("cudnn legacy {} {}{} ws={:.1f}MB", algorithm_,
                       legacy_algorithm_name(pass_, algorithm_), extras_.name(),
                       static_cast<double>(workspace_bytes_) * 1e-6);
  }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return extras_.scratch_bytes() + workspace_bytes_;
  }

  void run(const ConvolutionMemory& memory, std::byte* scratch) override {
    std::byte* const weights =
        extras_.has_low_gradient() ? extras_.low_gradient(scratch) : memory.weights;
    std::byte* const workspace = scratch + extras_.scratch_bytes();
    if (pass_ == Pass::forward) forward(memory, workspace);
    if (pass_ == Pass::backward_data) backward_data(memory, workspace);
    if (pass_ == Pass::backward_filter) backward_filter(memory, weights, workspace);
    extras_.run(memory, scratch);
  }

 private:
  [[nodiscard]] std::size_t ask_workspace() const {
    std::size_t bytes = 0;
    if (pass_ == Pass::forward) {
      check(cudnnGetConvolutionForwardWorkspaceSize(
                handle_, input_.get(), weights_.get(), geometry_.get(), output_.get(),
                static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), &bytes),
            "cudnnGetConvolutionForwardWorkspaceSize", problem_.what);
    } else if (pass_ == Pass::backward_data) {
      check(cudnnGetConvolutionBackwardDataWorkspaceSize(
                handle_, weights_.get(), output_.get(), geometry_.get(), input_.get(),
                static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_), &bytes),
            "cudnnGetConvolutionBackwardDataWorkspaceSize", problem_.what);
    } else {
      check(cudnnGetConvolutionBackwardFilterWorkspaceSize(
                handle_, input_.get(), output_.get(), geometry_.get(), weights_.get(),
                static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_), &bytes),
            "cudnnGetConvolutionBackwardFilterWorkspaceSize", problem_.what);
    }
    return bytes;
  }

  void forward(const ConvolutionMemory& memory, std::byte* workspace) const {
    check(cudnnConvolutionForward(handle_, &one, input_.get(), memory.input, weights_.get(),
                                  memory.weights, geometry_.get(),
                                  static_cast<cudnnConvolutionFwdAlgo_t>(algorithm_), workspace,
                                  workspace_bytes_, &zero, output_.get(), memory.output),
          "cudnnConvolutionForward", problem_.what);
  }

  void backward_data(const ConvolutionMemory& memory, std::byte* workspace) const {
    check(cudnnConvolutionBackwardData(
              handle_, &one, weights_.get(), memory.weights, output_.get(), memory.output,
              geometry_.get(), static_cast<cudnnConvolutionBwdDataAlgo_t>(algorithm_), workspace,
              workspace_bytes_, &zero, input_.get(), memory.input),
          "cudnnConvolutionBackwardData", problem_.what);
  }

  void backward_filter(const ConvolutionMemory& memory, std::byte* weights,
                       std::byte* workspace) const {
    check(cudnnConvolutionBackwardFilter(
              handle_, &one, input_.get(), memory.input, output_.get(), memory.output,
              geometry_.get(), static_cast<cudnnConvolutionBwdFilterAlgo_t>(algorithm_), workspace,
              workspace_bytes_, &zero, weights_.get(), weights),
          "cudnnConvolutionBackwardFilter", problem_.what);
  }

  static constexpr float one = 1;
  static constexpr float zero = 0;

  cudnnHandle_t handle_;
  ConvolutionProblem problem_;
  Pass pass_;
  int algorithm_;
  LegacyTensor input_;
  LegacyTensor output_;
  FilterDescriptor weights_;
  GeometryDescriptor geometry_;
  ConvolutionExtras extras_;
  std::size_t workspace_bytes_;
};

}  // namespace

int legacy_algorithm_count(Pass pass) {
  return static_cast<int>(names_of(pass).size());
}

std::string legacy_algorithm_name(Pass pass, int algorithm) {
  return std::string(names_of(pass)[static_cast<std::size_t>(algorithm)]);
}

std::unique_ptr<ConvolutionPass> make_legacy_pass(const Context& context,
                                                  const ConvolutionProblem& problem, Pass pass,
                                                  int algorithm) {
  EXPECT(algorithm >= 0 && algorithm < legacy_algorithm_count(pass));
  return std::make_unique<LegacyPass>(context, problem, pass, algorithm);
}

}  // namespace dlscale::backend::cuda
