#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "backend/compute/cuda/cudnn_layers/graph_layer.hpp"
#include "backend/compute/cuda/cudnn_layers/graph_parts.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// cuDNN writes the position of an element in its window as an int8.
constexpr std::int64_t most_places = std::int64_t{std::numeric_limits<std::int8_t>::max()} + 1;

class PoolingGraphs final : public GraphLayer {
 public:
  PoolingGraphs(const OperationSpec& spec, const Pooling& kind, Order order)
      : what_(describe(spec)),
        kind_(kind),
        order_(order),
        type_(data_type(spec.dtype)),
        input_(spec.inputs.front().dims),
        output_(output_dims(spec)) {}

  [[nodiscard]] Graph graph(const Target& target, Pass pass) const override {
    expect_places_fit();
    GraphParts parts(what_, order_);
    const std::size_t resample = parts.keep(windows(parts));
    if (pass == Pass::forward) {
      forward(parts, resample);
    } else {
      EXPECT(pass == Pass::backward_data);
      backward(parts, resample);
    }
    return std::move(parts).graph(target);
  }

  [[nodiscard]] std::vector<Binding> bindings(Pass pass, const Operands& operands,
                                              std::byte* state) const override {
    std::vector<Binding> bindings;
    if (pass == Pass::forward) {
      bindings = {{TensorId::input, operands.inputs[0].data},
                  {TensorId::output, operands.output.data}};
    } else {
      bindings = {{TensorId::input_gradient, operands.input_gradients[0].data},
                  {TensorId::output_gradient, operands.output_gradient.data}};
      if (compares()) {
        bindings.push_back({TensorId::input, operands.inputs[0].data});
        bindings.push_back({TensorId::output, operands.output.data});
      }
    }
    if (keeps_places()) bindings.push_back({TensorId::places, state});
    return bindings;
  }

  [[nodiscard]] std::size_t state_bytes() const override {
    const std::int64_t elements = output_[0] * output_[1] * output_[2] * output_[3];
    return keeps_places() ? static_cast<std::size_t>(elements) : 0;
  }

 private:
  [[nodiscard]] bool is_max() const { return kind_.kind == PoolingKind::max; }
  [[nodiscard]] bool keeps_places() const { return is_max() && order_ == Order::nhwc; }
  [[nodiscard]] bool compares() const { return is_max() && order_ == Order::nchw; }

  void expect_places_fit() const {
    const std::int64_t places = std::int64_t{kind_.kernel_h} * kind_.kernel_w;
    if (!keeps_places() || places <= most_places) return;
    throw Unsupported(fmt::format(
        "{}: cuDNN keeps the place of the largest of {} elements in 8 bits, which is enough for "
        "{}. Our own kernels do it.",
        what_, places, most_places));
  }

  [[nodiscard]] Descriptor windows(const GraphParts& parts) const {
    const Overhang rows = overhang(input_[2], output_[2], kind_.kernel_h, kind_.stride, kind_.pad);
    const Overhang columns =
        overhang(input_[3], output_[3], kind_.kernel_w, kind_.stride, kind_.pad);
    const auto pair = [](std::int64_t first, std::int64_t second) {
      return std::array<std::int64_t, 2>{first, second};
    };
    Descriptor part = parts.descriptor(CUDNN_BACKEND_RESAMPLE_DESCRIPTOR);
    part.set(CUDNN_ATTR_RESAMPLE_MODE,
             is_max() ? CUDNN_RESAMPLE_MAXPOOL : CUDNN_RESAMPLE_AVGPOOL_EXCLUDE_PADDING);
    part.set(CUDNN_ATTR_RESAMPLE_COMP_TYPE, CUDNN_DATA_FLOAT);
    part.set(CUDNN_ATTR_RESAMPLE_SPATIAL_DIMS, std::int64_t{2});
    part.set(CUDNN_ATTR_RESAMPLE_PADDING_MODE, is_max() ? CUDNN_NEG_INF_PAD : CUDNN_ZERO_PAD);
    part.set(CUDNN_ATTR_RESAMPLE_NAN_PROPAGATION, CUDNN_PROPAGATE_NAN);  // it must show
    const auto set = [&part](cudnnBackendAttributeName_t name,
                             const std::array<std::int64_t, 2>& values) {
      part.set_list<std::int64_t>(name, values);
    };
    set(CUDNN_ATTR_RESAMPLE_WINDOW_DIMS, pair(kind_.kernel_h, kind_.kernel_w));
    set(CUDNN_ATTR_RESAMPLE_STRIDES, pair(kind_.stride, kind_.stride));
    set(CUDNN_ATTR_RESAMPLE_PRE_PADDINGS, pair(rows.before, columns.before));
    set(CUDNN_ATTR_RESAMPLE_POST_PADDINGS, pair(rows.after, columns.after));
    return part;
  }

  [[nodiscard]] std::size_t input(GraphParts& parts) const {
    return parts.tensor(TensorId::input, input_, type_);
  }
  [[nodiscard]] std::size_t output(GraphParts& parts) const {
    return parts.tensor(TensorId::output, output_, type_);
  }
  /// Names the positions to an operation, where they are kept.
  void add_places(GraphParts& parts, Descriptor& part, cudnnBackendAttributeName_t name) const {
    if (!keeps_places()) return;
    part.set(name, parts[parts.tensor(TensorId::places, output_, CUDNN_DATA_INT8)]);
  }

  void forward(GraphParts& parts, std::size_t resample) const {
    const std::size_t x = input(parts);
    const std::size_t y = output(parts);
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_RESAMPLE_FWD_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_DESC, parts[resample]);
    part.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_XDESC, parts[x]);
    part.set(CUDNN_ATTR_OPERATION_RESAMPLE_FWD_YDESC, parts[y]);
    add_places(parts, part, CUDNN_ATTR_OPERATION_RESAMPLE_FWD_IDXDESC);
    parts.operate(std::move(part));
  }

  void backward(GraphParts& parts, std::size_t resample) const {
    const std::size_t dx = parts.tensor(TensorId::input_gradient, input_, type_);
    const std::size_t dy = parts.tensor(TensorId::output_gradient, output_, type_);
    Descriptor part = parts.descriptor(CUDNN_BACKEND_OPERATION_RESAMPLE_BWD_DESCRIPTOR);
    part.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DESC, parts[resample]);
    part.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DXDESC, parts[dx]);
    part.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_DYDESC, parts[dy]);
    // Sets one of the two: without positions cuDNN 9.19 crashes in a max pooling in nhwc order.
    add_places(parts, part, CUDNN_ATTR_OPERATION_RESAMPLE_BWD_IDXDESC);
    if (compares()) {
      part.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_XDESC, parts[input(parts)]);
      part.set(CUDNN_ATTR_OPERATION_RESAMPLE_BWD_YDESC, parts[output(parts)]);
    }
    parts.operate(std::move(part));
  }

  std::string what_;
  Pooling kind_;
  Order order_;
  cudnnDataType_t type_;
  Dims input_;
  Dims output_;
};

}  // namespace

Overhang overhang(std::int64_t input, std::int64_t output, int kernel, int stride, int pad) {
  const std::int64_t reached = (output - 1) * stride + kernel - pad;
  return {pad, std::max<std::int64_t>(reached - input, 0)};
}

std::shared_ptr<const GraphLayer> pooling_graphs(const OperationSpec& spec, const Pooling& kind,
                                                 Order order) {
  return std::make_shared<const PoolingGraphs>(spec, kind, order);
}

}  // namespace dlscale::backend::cuda
