#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "backend/compute/onednn/assembly.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::onednn_device {

namespace {

/// G × O/G × I/G × R × S with groups, else O × I × R × S.
MemoryDims library_weight_dims(const OperationSpec& spec, const Convolution& kind) {
  const auto [outputs, inputs, height, width] = weight_dims(spec);
  if (kind.groups == 1) return {outputs, inputs, height, width};
  return {kind.groups, outputs / kind.groups, inputs, height, width};
}

/// The library reports any reason as the same failure, so this checks the most common ones.
void expect_shape_for_winograd(const Convolution& kind) {
  if (kind.groups != 1) {
    throw Unsupported(fmt::format("{} groups: Winograd by oneDNN needs 1", kind.groups));
  }
  if (kind.stride != 1) throw Unsupported(fmt::format("stride {}: Winograd needs 1", kind.stride));
  if (kind.kernel_h == 1 && kind.kernel_w == 1) {
    throw Unsupported("kernel 1 x 1: Winograd saves nothing on single points");
  }
}

ConvolutionGeometry convolution_geometry(const Convolution& kind) {
  return {{kind.stride, kind.stride}, {kind.pad, kind.pad}, {kind.pad, kind.pad}};
}

/// Builds the three passes of a convolution. Forward chooses all layouts; inputs in another layout
/// are reordered. The backward passes first try the layouts of forward. Only if these lead to a
/// slow implementation may they choose, at the price of reorders. A ReLU is part of the forward
/// primitive; backward, it is applied to the gradient first, in place. If a layout was requested,
/// forward is treated like the backward passes.
class ConvolutionAssembler {
 public:
  ConvolutionAssembler(Assembly& assembly, const Convolution& kind,
                       const ConvolutionMethods& methods)
      : assembly_(assembly),
        kind_(kind),
        methods_(methods),
        geometry_(convolution_geometry(kind)),
        x_(library_dims(assembly.spec().inputs.front().dims)),
        y_(library_dims(output_dims(assembly.spec()))),
        weights_(library_weight_dims(assembly.spec(), kind)),
        bias_(kind.bias ? plain({kind.out_channels}, DataType::f32) : Desc()),
        asked_(assembly.spec().layout),
        agreed_x_(asked_ ? assembly.input().desc : Desc()),
        agreed_y_(asked_ ? arranged(y_, assembly.type(), *asked_) : Desc()),
        forward_desc_(forward_by(direct)) {
    if (asked_) return;
    agreed_x_ = forward_desc_.src_desc();
    agreed_y_ = forward_desc_.dst_desc();
  }

  void assemble() {
    assembly_.set_output(agreed_y_);
    assembly_.add_parameter(ParameterRole::weight, weight_dims(assembly_.spec()),
                            forward_desc_.weights_desc());
    if (kind_.bias) {
      assembly_.add_parameter(ParameterRole::bias, vector_dims(kind_.out_channels), bias_);
    }
    forward();
    backward_data();
    backward_filter();
  }

 private:
  [[nodiscard]] Desc any_of(const MemoryDims& dims) const { return any(dims, assembly_.type()); }

  [[nodiscard]] ConvolutionMethod method(Pass pass) const {
    return methods_[static_cast<std::size_t>(pass)];
  }

  /// Whether the library runs the requested method. It has run another one in place of Winograd
  /// (its issue 3105).
  static bool ran_by(const dnnl::primitive_desc_base& made, ConvolutionMethod by) {
    return by == direct ||
           std::string_view(made.impl_info_str()).find("wino") != std::string_view::npos;
  }

  template <class Descriptor>
  Descriptor expect_method(Descriptor made, ConvolutionMethod by) const {
    if (ran_by(made, by)) return made;
    throw Unsupported(fmt::format("{}: oneDNN would run {} instead.", describe(assembly_.spec()),
                                  made.impl_info_str()));
  }

  template <class Make>
  [[nodiscard]] auto choose(ConvolutionMethod by, Make make) const {
    if (by == direct || asked_) {
      try {
        auto agreed = make(agreed_x_, agreed_y_);
        if (!is_fallback(agreed) && ran_by(agreed, by)) return agreed;
      } catch (const dnnl::error&) {  // not offered in these layouts
      }
    }
    return expect_method(make(any_of(x_), any_of(y_)), by);
  }

  [[nodiscard]] dnnl::convolution_forward::primitive_desc forward_by(ConvolutionMethod by) const {
    const auto make = [&](const Desc& x, const Desc& y) {
      return convolution_forward(assembly_.engine(), x, any_of(weights_), bias_, y, geometry_, by,
                                 assembly_.then());
    };
    return asked_ ? choose(by, make) : make(any_of(x_), any_of(y_));
  }

  void forward() {
    std::vector<Argument> arguments{reads(DNNL_ARG_SRC, assembly_.input()),
                                    reads(DNNL_ARG_WEIGHTS, assembly_.parameter(0)),
                                    writes(DNNL_ARG_DST, assembly_.output())};
    if (kind_.bias) arguments.push_back(reads(DNNL_ARG_BIAS, assembly_.parameter(1)));
    const ConvolutionMethod by = method(Pass::forward);
    assembly_.plan(Pass::forward)
        .add(by == direct ? forward_desc_ : expect_method(forward_by(by), by), arguments);
  }

  void backward_data() {
    const ConvolutionMethod by = method(Pass::backward_data);
    const auto hint = by == direct ? forward_desc_ : forward_by(by);
    const auto make = [&](const Desc& x, const Desc& y) {
      return convolution_backward_data(assembly_.engine(), x, any_of(weights_), y, geometry_, hint,
                                       by);
    };
    assembly_.plan(Pass::backward_data)
        .add(choose(by, make), {reads(DNNL_ARG_DIFF_DST, assembly_.output_gradient()),
                                reads(DNNL_ARG_WEIGHTS, assembly_.parameter(0)),
                                writes(DNNL_ARG_DIFF_SRC, assembly_.input_gradient())});
  }

  void backward_filter() {
    const ConvolutionMethod by = method(Pass::backward_filter);
    const auto hint = by == direct ? forward_desc_ : forward_by(by);
    const auto make = [&](const Desc& x, const Desc& y) {
      return convolution_backward_weights(assembly_.engine(), x, any(weights_, DataType::f32),
                                          bias_, y, geometry_, hint, by);
    };
    std::vector<Argument> arguments{reads(DNNL_ARG_SRC, assembly_.input()),
                                    reads(DNNL_ARG_DIFF_DST, assembly_.output_gradient()),
                                    writes(DNNL_ARG_DIFF_WEIGHTS, assembly_.parameter_gradient(0))};
    if (kind_.bias) {
      arguments.push_back(writes(DNNL_ARG_DIFF_BIAS, assembly_.parameter_gradient(1)));
    }
    PassPlan& plan = assembly_.plan(Pass::backward_filter);
    if (assembly_.then() == Then::relu) {
      add_relu_backward(assembly_, plan, assembly_.output_gradient());
    }
    plan.add(choose(by, make), arguments);
  }

  Assembly& assembly_;
  Convolution kind_;
  ConvolutionMethods methods_;
  ConvolutionGeometry geometry_;
  MemoryDims x_;
  MemoryDims y_;
  MemoryDims weights_;
  Desc bias_;
  std::optional<LayoutKind> asked_;
  Desc agreed_x_;  ///< layouts in which the passes should work
  Desc agreed_y_;
  dnnl::convolution_forward::primitive_desc forward_desc_;
};

}  // namespace

void assemble_convolution(Assembly& assembly, const Convolution& kind,
                          const ConvolutionMethods& methods) {
  const bool by_winograd =
      std::ranges::any_of(methods, [](ConvolutionMethod method) { return method != direct; });
  if (by_winograd) expect_shape_for_winograd(kind);
  ConvolutionAssembler(assembly, kind, methods).assemble();
}

}  // namespace dlscale::backend::onednn_device
