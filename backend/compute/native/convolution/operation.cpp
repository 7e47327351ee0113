#include "backend/compute/native/convolution/operation.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>
#include <vector>

#include "backend/compute/native/convolution/workers.hpp"
#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device {
namespace {

std::int64_t pixels_of(const ConvolutionShape& shape) {
  return shape.out_height * shape.out_width;
}

/// Calls visit(plane, its first element) for every plane of every image.
template <class Visit>
void for_each_plane(const ConvolutionShape& shape, int threads, const Visit& visit) {
  const std::int64_t pixels = pixels_of(shape);
  parallel_for(threads, shape.images * shape.outputs,
               [&](std::int64_t plane, int /*thread*/) { visit(plane, plane * pixels); });
}

/// Sixteen sums, which fill vectors; a single one would wait for itself at every addition.
double sum_of(const float* values, std::int64_t count) {
  constexpr std::int64_t sums = 16;
  std::array<float, sums> partial{};
  std::int64_t i = 0;
  for (; i + sums <= count; i += sums) {
    for (std::int64_t j = 0; j < sums; ++j) partial[static_cast<std::size_t>(j)] += values[i + j];
  }
  const double whole = std::accumulate(partial.begin(), partial.end(), 0.0);
  return std::accumulate(values + i, values + count, whole);
}

constexpr std::size_t alignment = 64;

std::size_t aligned(std::size_t bytes) {
  return (bytes + alignment - 1) / alignment * alignment;
}

class NativeConvolution final : public Operation {
 public:
  NativeConvolution(ComputeDevice& plain, const OperationSpec& spec, const Convolution& kind,
                    ConvolutionPasses passes, int threads, Filters filters)
      : plain_(&plain),
        shape_(shape_of(spec, kind)),
        passes_(std::move(passes)),
        threads_(threads),
        input_(plain.plain(spec.inputs.front().dims, DType::f32)),
        output_(plain.plain(output_dims(spec), DType::f32)),
        copies_(spec.inputs.front().layout != input_.layout),
        relu_(spec.layer.relu),
        filters_(filters) {
    add(ParameterRole::weight, weight_dims(spec));
    if (kind.bias) add(ParameterRole::bias, vector_dims(kind.out_channels));
  }

  [[nodiscard]] const TensorDesc& output() const override { return output_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override { return parameters_; }
  [[nodiscard]] std::size_t state_bytes() const override { return 0; }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return std::max({pass_scratch_bytes(Pass::forward), pass_scratch_bytes(Pass::backward_data),
                     pass_scratch_bytes(Pass::backward_filter)});
  }
  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    return copy_bytes() + by(pass).scratch_bytes() + alignment;
  }
  [[nodiscard]] std::size_t kept_bytes() const override {
    return filters_ == Filters::kept ? alignment + by(Pass::forward).kept_bytes() : 0;
  }
  [[nodiscard]] bool has(Pass pass) const override { return pass != Pass::accumulate; }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    const bool reorders = copies_ && pass != Pass::accumulate;
    const std::string relu = relu_ && pass == Pass::backward_filter ? "relu+" : "";
    const bool kept = filters_ == Filters::kept && pass == Pass::forward;
    return (kept ? "kept filters+" : "") + relu + (reorders ? "reorder+" : "") +
           by(pass).implementation() + (relu_ && pass == Pass::forward ? "+relu" : "");
  }

  [[nodiscard]] bool reorders_activations(Pass /*pass*/) const override { return copies_; }

  void run(Pass pass, const Operands& operands) override {
    switch (pass) {
      case Pass::forward:
        return forward(operands);
      case Pass::backward_data:
        return backward_data(operands);
      case Pass::backward_filter:
        return backward_filter(operands);
      case Pass::accumulate:
        break;
    }
    fail_expectation("pass is one of a convolution");
  }

 private:
  void add(ParameterRole role, Dims dims) {
    const TensorDesc desc = plain_->plain(dims, DType::f32);
    parameters_.push_back({role, desc, desc});
  }
  [[nodiscard]] ConvolutionPass& by(Pass pass) const {
    return *passes_[static_cast<std::size_t>(pass)];
  }
  [[nodiscard]] std::size_t copy_bytes() const {
    return copies_ ? aligned(input_.layout.bytes) : 0;
  }
  /// The first aligned address: scratch may begin anywhere.
  static std::byte* start(const Operands& operands) {
    const auto address = reinterpret_cast<std::uintptr_t>(operands.scratch);
    return operands.scratch + (aligned(address) - address);
  }

  const float* plain_input(const Operands& operands) const {
    const Tensor& input = operands.inputs.front();
    if (!copies_) return input.as<float>();
    const Tensor copy{input_, start(operands)};
    plain_->copy(input, copy);
    return copy.as<float>();
  }

  void forward(const Operands& operands) {
    auto* y = operands.output.as<float>();
    if (filters_ == Filters::kept && operands.kept != nullptr) {
      convolve_by_kept(operands, y);
    } else {
      by(Pass::forward)
          .run(plain_input(operands), operands.parameters[0].as<float>(), y,
               start(operands) + copy_bytes());
    }
    const float* bias = parameters_.size() > 1 ? operands.parameters[1].as<float>() : nullptr;
    if (relu_) {
      add_bias_and_rectify(shape_, bias, y, threads_);
    } else if (bias != nullptr) {
      add_bias(shape_, bias, y, threads_);
    }
  }

  /// Convolves by kept filters, which the version of their weights precedes in memory.
  void convolve_by_kept(const Operands& operands, float* y) {
    ConvolutionPass& pass = by(Pass::forward);
    std::byte* const filters = operands.kept + alignment;
    std::byte* const scratch = start(operands) + copy_bytes();
    auto& version = *reinterpret_cast<std::uint64_t*>(operands.kept);
    if (version == 0 || version != operands.weights_version) {
      pass.keep(operands.parameters[0].as<float>(), filters, scratch);
      version = operands.weights_version;
    }
    pass.run_kept(plain_input(operands), filters, y, scratch);
  }

  void backward_data(const Operands& operands) {
    const Tensor& wanted = operands.input_gradients.front();
    const Tensor plain{input_, copies_ ? start(operands) : wanted.data};
    by(Pass::backward_data)
        .run(operands.output_gradient.as<float>(), operands.parameters[0].as<float>(),
             plain.as<float>(), start(operands) + copy_bytes());
    if (copies_) plain_->copy(plain, wanted);
  }

  void backward_filter(const Operands& operands) {
    auto* dy = operands.output_gradient.as<float>();
    if (relu_) mask_gradient(shape_, operands.output.as<float>(), dy, threads_);
    by(Pass::backward_filter)
        .run(plain_input(operands), dy, operands.parameter_gradients[0].as<float>(),
             start(operands) + copy_bytes());
    if (parameters_.size() > 1) {
      sum_bias(shape_, dy, operands.parameter_gradients[1].as<float>(), threads_);
    }
  }

  ComputeDevice* plain_;
  ConvolutionShape shape_;
  ConvolutionPasses passes_;
  int threads_;
  TensorDesc input_;  ///< layout for our passes
  TensorDesc output_;
  bool copies_;  ///< the producer left it in another layout
  bool relu_;
  Filters filters_;
  std::vector<Parameter> parameters_;
};

}  // namespace

void add_bias(const ConvolutionShape& shape, const float* bias, float* y, int threads) {
  for_each_plane(shape, threads, [&](std::int64_t plane, std::int64_t first) {
    const float b = bias[plane % shape.outputs];
    float* const row = y + first;
    for (std::int64_t i = 0; i < pixels_of(shape); ++i) row[i] += b;
  });
}

void add_bias_and_rectify(const ConvolutionShape& shape, const float* bias, float* y, int threads) {
  for_each_plane(shape, threads, [&](std::int64_t plane, std::int64_t first) {
    const float b = bias == nullptr ? 0 : bias[plane % shape.outputs];
    float* const row = y + first;
    for (std::int64_t i = 0; i < pixels_of(shape); ++i) row[i] = std::max(row[i] + b, 0.0F);
  });
}

void mask_gradient(const ConvolutionShape& shape, const float* y, float* dy, int threads) {
  for_each_plane(shape, threads, [&](std::int64_t /*plane*/, std::int64_t first) {
    const float* const outputs = y + first;
    float* const gradients = dy + first;
    for (std::int64_t i = 0; i < pixels_of(shape); ++i) {
      gradients[i] = outputs[i] > 0 ? gradients[i] : 0;
    }
  });
}

void sum_bias(const ConvolutionShape& shape, const float* dy, float* gradient, int threads) {
  const std::int64_t pixels = pixels_of(shape);
  parallel_for(threads, shape.outputs, [&](std::int64_t k, int /*thread*/) {
    double sum = 0;
    for (std::int64_t n = 0; n < shape.images; ++n) {
      sum += sum_of(dy + (n * shape.outputs + k) * pixels, pixels);
    }
    gradient[k] = static_cast<float>(sum);
  });
}

ConvolutionShape shape_of(const OperationSpec& spec, const Convolution& kind) {
  const Dims x = spec.inputs.front().dims;
  const Dims y = output_dims(spec);
  return {.images = x[0],
          .channels = x[1],
          .height = x[2],
          .width = x[3],
          .outputs = y[1],
          .out_height = y[2],
          .out_width = y[3],
          .kernel_h = kind.kernel_h,
          .kernel_w = kind.kernel_w,
          .stride = kind.stride,
          .pad = kind.pad,
          .groups = kind.groups};
}

std::unique_ptr<Operation> make_convolution(ComputeDevice& plain, const OperationSpec& spec,
                                            const Convolution& kind, ConvolutionPasses passes,
                                            int threads, Filters filters) {
  const ConvolutionPass& forward = *passes[static_cast<std::size_t>(Pass::forward)];
  if (filters == Filters::kept && forward.kept_bytes() == 0) {
    throw Unsupported(forward.implementation() +
                      " keeps nothing of these filters: what it makes of them is not in memory as "
                      "a whole. Choose it without kept filters.");
  }
  return std::make_unique<NativeConvolution>(plain, spec, kind, std::move(passes), threads,
                                             filters);
}

}  // namespace dlscale::backend::native_device
