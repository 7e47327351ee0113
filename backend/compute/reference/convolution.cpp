#include <algorithm>
#include <numeric>
#include <utility>

#include "backend/compute/reference/plain_operation.hpp"

namespace dlscale::backend::reference_loops {

namespace {

using Index = std::int64_t;

/// The pixels of one row (or column) of the output for which tap `tap` of the kernel is inside the
/// input. Output pixel q in [first, last) reads input pixel q · stride + shift.
struct Span {
  Index first;
  Index last;
  Index shift;
};

Span inside(Index tap, Index stride, Index pad, Index input, Index output) {
  const Index shift = tap - pad;
  const Index first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const Index last = input <= shift ? 0 : (input - shift - 1) / stride + 1;
  return {std::min(first, output), std::max(std::min(first, output), std::min(last, output)),
          shift};
}

// The three inner loops run along a row. A constant stride lets the compiler vectorise them.

/// y[q] += w · x[q · stride]
void add_scaled(Index n, double w, const float* x, Index stride, double* y) {
  if (stride == 1) {
    for (Index q = 0; q < n; ++q) y[q] += w * double{x[q]};
  } else {
    for (Index q = 0; q < n; ++q) y[q] += w * double{x[q * stride]};
  }
}

/// x[q · stride] += w · y[q]
void scatter_scaled(Index n, double w, const float* y, Index stride, double* x) {
  if (stride == 1) {
    for (Index q = 0; q < n; ++q) x[q] += w * double{y[q]};
  } else {
    for (Index q = 0; q < n; ++q) x[q * stride] += w * double{y[q]};
  }
}

/// sums[q] += y[q] · x[q · stride]
void add_products(Index n, const float* y, const float* x, Index stride, double* sums) {
  if (stride == 1) {
    for (Index q = 0; q < n; ++q) sums[q] += double{y[q]} * double{x[q]};
  } else {
    for (Index q = 0; q < n; ++q) sums[q] += double{y[q]} * double{x[q * stride]};
  }
}

/// Cross-correlation: y[n,o,p,q] = b[o] + Σ_{i,r,s} w[o,i,r,s] · x[n, i, p·stride+r-pad, …].
class ConvolutionLoops final : public PlainOperation {
 public:
  ConvolutionLoops(const OperationSpec& spec, const Convolution& kind)
      : PlainOperation(spec),
        kind_(kind),
        images_(spec.batch),
        inputs_(spec.layer.input_shapes.front().channels),
        height_(spec.layer.input_shapes.front().height),
        width_(spec.layer.input_shapes.front().width),
        output_height_(spec.layer.output.height),
        output_width_(spec.layer.output.width) {
    add_parameter(ParameterRole::weight, weight_dims(spec));
    if (kind.bias) add_parameter(ParameterRole::bias, vector_dims(kind.out_channels));
    if (kind.kernel_h == 1 && kind.kernel_w == 1 && kind.stride == 1 && kind.pad == 0) {
      width_ = std::exchange(height_, 1) * width_;  // a plane is one long row
      output_width_ = std::exchange(output_height_, 1) * output_width_;
    }
  }

  [[nodiscard]] bool has(Pass pass) const override { return pass != Pass::accumulate; }

 private:
  /// Calls visit(o, i, weight index, row p of the output, row of the input, columns) for all taps
  /// of the selected pairs of an output channel o and an input channel i.
  template <class Visit>
  void for_rows(Index o, Index i_in_group, Visit visit) const {
    for (Index r = 0; r < kind_.kernel_h; ++r) {
      const Span rows = inside(r, kind_.stride, kind_.pad, height_, output_height_);
      for (Index s = 0; s < kind_.kernel_w; ++s) {
        const Span columns = inside(s, kind_.stride, kind_.pad, width_, output_width_);
        const Index tap =
            ((o * group_inputs() + i_in_group) * kind_.kernel_h + r) * kind_.kernel_w + s;
        for (Index p = rows.first; p < rows.last; ++p) {
          visit(tap, p * output_width_ + columns.first,
                (p * kind_.stride + rows.shift) * width_ + columns.first * kind_.stride +
                    columns.shift,
                columns.last - columns.first);
        }
      }
    }
  }

  void forward(const Operands& operands) const override {
    const float* w = operands.parameters[0].as<float>();
    std::vector<double> sums(static_cast<std::size_t>(output_plane()));
    for (Index n = 0; n < images_; ++n) {
      for (Index o = 0; o < kind_.out_channels; ++o) {
        std::fill(sums.begin(), sums.end(),
                  kind_.bias ? operands.parameters[1].as<float>()[o] : 0.0F);
        for (Index i = 0; i < group_inputs(); ++i) {
          const float* x = operands.inputs[0].as<float>() + input_plane_at(n, o, i);
          for_rows(o, i, [&](Index tap, Index at_y, Index at_x, Index columns) {
            add_scaled(columns, w[tap], x + at_x, kind_.stride, sums.data() + at_y);
          });
        }
        std::copy(sums.begin(), sums.end(), operands.output.as<float>() + output_plane_at(n, o));
      }
    }
  }

  void backward_data(const Operands& operands) const override {
    const float* w = operands.parameters[0].as<float>();
    std::vector<double> sums(static_cast<std::size_t>(height_ * width_));
    for (Index n = 0; n < images_; ++n) {
      for (Index channel = 0; channel < inputs_; ++channel) {
        std::fill(sums.begin(), sums.end(), 0.0);
        const Index first_output = channel / group_inputs() * group_outputs();
        for (Index o = first_output; o < first_output + group_outputs(); ++o) {
          const float* dy = operands.output_gradient.as<float>() + output_plane_at(n, o);
          for_rows(o, channel % group_inputs(),
                   [&](Index tap, Index at_y, Index at_x, Index columns) {
                     scatter_scaled(columns, w[tap], dy + at_y, kind_.stride, sums.data() + at_x);
                   });
        }
        std::copy(
            sums.begin(), sums.end(),
            operands.input_gradients[0].as<float>() + (n * inputs_ + channel) * height_ * width_);
      }
    }
  }

  void backward_filter(const Operands& operands) const override {
    const Index taps = Index{kind_.kernel_h} * kind_.kernel_w;
    std::vector<double> sums(static_cast<std::size_t>(taps * output_width_));
    float* dw = operands.parameter_gradients[0].as<float>();
    for (Index o = 0; o < kind_.out_channels; ++o) {
      for (Index i = 0; i < group_inputs(); ++i) {
        std::fill(sums.begin(), sums.end(), 0.0);
        const Index first_tap = (o * group_inputs() + i) * taps;
        for (Index n = 0; n < images_; ++n) {
          const float* x = operands.inputs[0].as<float>() + input_plane_at(n, o, i);
          const float* dy = operands.output_gradient.as<float>() + output_plane_at(n, o);
          for_rows(o, i, [&](Index tap, Index at_y, Index at_x, Index columns) {
            add_products(columns, dy + at_y, x + at_x, kind_.stride,
                         sums.data() + (tap - first_tap) * output_width_);
          });
        }
        for (Index tap = 0; tap < taps; ++tap) {
          const auto row = sums.begin() + tap * output_width_;
          dw[first_tap + tap] = static_cast<float>(std::accumulate(row, row + output_width_, 0.0));
        }
      }
    }
    if (kind_.bias) backward_bias(operands);
  }

  void backward_bias(const Operands& operands) const {
    for (Index o = 0; o < kind_.out_channels; ++o) {
      double sum = 0;
      for (Index n = 0; n < images_; ++n) {
        const float* dy = operands.output_gradient.as<float>() + output_plane_at(n, o);
        sum = std::accumulate(dy, dy + output_plane(), sum);
      }
      operands.parameter_gradients[1].as<float>()[o] = static_cast<float>(sum);
    }
  }

  [[nodiscard]] Index group_inputs() const { return inputs_ / kind_.groups; }
  [[nodiscard]] Index group_outputs() const { return kind_.out_channels / kind_.groups; }
  [[nodiscard]] Index output_plane() const { return output_height_ * output_width_; }
  /// Offset of the plane of input i of the group of output channel o.
  [[nodiscard]] Index input_plane_at(Index n, Index o, Index i) const {
    return (n * inputs_ + o / group_outputs() * group_inputs() + i) * height_ * width_;
  }
  [[nodiscard]] Index output_plane_at(Index n, Index o) const {
    return (n * kind_.out_channels + o) * output_plane();
  }

  Convolution kind_;
  Index images_;
  Index inputs_;
  Index height_;
  Index width_;
  Index output_height_;
  Index output_width_;
};

}  // namespace

std::unique_ptr<Operation> make_convolution(const OperationSpec& spec, const Convolution& kind) {
  return std::make_unique<ConvolutionLoops>(spec, kind);
}

}  // namespace dlscale::backend::reference_loops
