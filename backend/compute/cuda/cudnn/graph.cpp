#include "backend/compute/cuda/cudnn/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Least alignment of buffers, in bytes.
constexpr std::int64_t tensor_alignment = 16;

/// Makes the descriptors of one graph, in the order in which they depend on each other.
class GraphBuilder {
 public:
  GraphBuilder(const ConvolutionProblem& problem, const GraphForm& form,
               std::vector<Descriptor>& parts)
      : problem_(problem),
        form_(form),
        what_(std::make_shared<const std::string>(problem.what)),
        parts_(parts) {}

  /// The operations, which come last.
  std::vector<std::size_t> build() {
    if (form_.fusion == Fusion::none) return {convolve(tensor(TensorId::output))};
    EXPECT(form_.pass == Pass::forward && (form_.fusion == Fusion::relu || problem_.bias));
    std::size_t last = tensor(TensorId::sum);
    std::vector<std::size_t> operations{convolve(last)};
    if (problem_.bias) {
      const bool ends = form_.fusion == Fusion::bias;
      const std::size_t biased = tensor(ends ? TensorId::output : TensorId::biased);
      operations.push_back(add_bias(last, biased));
      last = biased;
    }
    if (form_.fusion == Fusion::relu) operations.push_back(rectify(last));
    return operations;
  }

 private:
  std::size_t keep(Descriptor&& part) {
    part.finalize();
    parts_.push_back(std::move(part));
    return parts_.size() - 1;
  }

  [[nodiscard]] Dims dims_of(TensorId id) const {
    if (id == TensorId::input) return problem_.input;
    if (id == TensorId::weights) return problem_.weights;
    if (id == TensorId::bias) return {1, problem_.output[1], 1, 1};
    return problem_.output;
  }

  [[nodiscard]] cudnnDataType_t type_of(TensorId id) const {
    const bool f32_gradient = id == TensorId::weights && form_.pass == Pass::backward_filter &&
                              form_.weight_gradient == GradientPrecision::f32;
    if (f32_gradient || id == TensorId::bias || is_virtual(id)) return CUDNN_DATA_FLOAT;
    return data_type(problem_.dtype);
  }

  /// Whether the tensor exists only between two operations, never in memory.
  static bool is_virtual(TensorId id) { return id == TensorId::sum || id == TensorId::biased; }

  std::size_t tensor(TensorId id) {
    const Dims dims = dims_of(id);
    const auto strides = cuda::strides(dims, problem_.order);
    Descriptor part(CUDNN_BACKEND_TENSOR_DESCRIPTOR, what_);
    part.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, static_cast<std::int64_t>(id));
    part.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type_of(id));
    part.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, tensor_alignment);
    part.set_list<std::int64_t>(CUDNN_ATTR_TENSOR_DIMENSIONS, dims);
    part.set_list<std::int64_t>(CUDNN_ATTR_TENSOR_STRIDES, strides);
    if (is_virtual(id)) part.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
    return keep(std::move(part));
  }

  std::size_t geometry() {
    const std::array<std::int64_t, 2> pads{problem_.pad, problem_.pad};
    const std::array<std::int64_t, 2> strides{problem_.stride, problem_.stride};
    constexpr std::array<std::int64_t, 2> dilations{1, 1};
    Descriptor part(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR, what_);
    part.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
    part.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_CROSS_CORRELATION);
    part.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, std::int64_t{2});
    part.set_list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, pads);
    part.set_list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, pads);
    part.set_list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, strides);
    part.set_list<std::int64_t>(CUDNN_ATTR_CONVOLUTION_DILATIONS, dilations);
    return keep(std::move(part));
  }

  /// Attribute names, which differ between the three kinds of convolution.
  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t geometry;
    cudnnBackendAttributeName_t input;
    cudnnBackendAttributeName_t weights;
    cudnnBackendAttributeName_t output;
    cudnnBackendAttributeName_t alpha;
    cudnnBackendAttributeName_t beta;
  };

  static Names names_for(Pass pass) {
    if (pass == Pass::forward) {
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA};
    }
    if (pass == Pass::backward_data) {
      return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
              CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA};
    }
    EXPECT(pass == Pass::backward_filter);
    return {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
            CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA};
  }

  std::size_t convolve(std::size_t output) {
    const std::size_t input = tensor(TensorId::input);
    const std::size_t weights = tensor(TensorId::weights);
    const std::size_t shape = geometry();
    const Names names = names_for(form_.pass);
    Descriptor part(names.type, what_);
    part.set(names.geometry, parts_[shape]);
    part.set(names.input, parts_[input]);
    part.set(names.weights, parts_[weights]);
    part.set(names.output, parts_[output]);
    part.set(names.alpha, 1.0F);
    part.set(names.beta, 0.0F);
    return keep(std::move(part));
  }

  std::size_t pointwise(cudnnPointwiseMode_t mode) {
    Descriptor part(CUDNN_BACKEND_POINTWISE_DESCRIPTOR, what_);
    part.set(CUDNN_ATTR_POINTWISE_MODE, mode);
    part.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
    return keep(std::move(part));
  }

  std::size_t add_bias(std::size_t sum, std::size_t biased) {
    const std::size_t add = pointwise(CUDNN_POINTWISE_ADD);
    const std::size_t bias = tensor(TensorId::bias);
    Descriptor part(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what_);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_[add]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_[sum]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, parts_[bias]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[biased]);
    return keep(std::move(part));
  }

  std::size_t rectify(std::size_t from) {
    const std::size_t relu = pointwise(CUDNN_POINTWISE_RELU_FWD);
    const std::size_t output = tensor(TensorId::output);
    Descriptor part(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, what_);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, parts_[relu]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, parts_[from]);
    part.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, parts_[output]);
    return keep(std::move(part));
  }

  const ConvolutionProblem& problem_;
  const GraphForm& form_;
  std::shared_ptr<const std::string> what_;
  std::vector<Descriptor>& parts_;
};

Descriptor make_operation_graph(const Target& target, const ConvolutionProblem& problem,
                                const GraphForm& form, std::vector<Descriptor>& parts) {
  const std::vector<std::size_t> operations = GraphBuilder(problem, form, parts).build();
  std::vector<cudnnBackendDescriptor_t> raw;
  raw.reserve(operations.size());
  for (const std::size_t part : operations) raw.push_back(parts[part].get());
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, parts[operations.front()].what());
  if (target.handle != nullptr) graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, target.handle);
  graph.set_descriptors(CUDNN_ATTR_OPERATIONGRAPH_OPS, raw);
  graph.finalize();
  return graph;
}

}  // namespace

cudnnDataType_t data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      return CUDNN_DATA_FLOAT;
    case DType::bf16:
      return CUDNN_DATA_BFLOAT16;
    case DType::f16:
      return CUDNN_DATA_HALF;
  }
  fail_expectation("a known DType");
}

std::string words_of(const GraphForm& form) {
  std::string words;
  if (form.fusion == Fusion::bias) words += " fused-bias";
  if (form.fusion == Fusion::relu) words += " fused-relu";
  if (form.weight_gradient == GradientPrecision::low) words += " low-gradient";
  return words;
}

Target described_target(const std::string& json) {
  auto description = std::make_shared<Descriptor>(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR,
                                                  std::make_shared<const std::string>("a device"));
  description->set_list<char>(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, json);
  description->finalize();
  return {.description = description};
}

Graph::Graph(const Target& target, const ConvolutionProblem& problem, const GraphForm& form)
    : target_(target),
      form_(form),
      operation_graph_(make_operation_graph(target, problem, form, parts_)) {}

std::int64_t Graph::engine_count() const {
  return operation_graph_.get<std::int64_t>(CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
}

}  // namespace dlscale::backend::cuda
