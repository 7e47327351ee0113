#include "backend/compute/random_bits.hpp"

#include <memory>

#include "backend/compute/onednn/assembly.hpp"
#include "backend/compute/precision.hpp"

namespace dlscale::backend::onednn_device {

namespace {

using Index = std::int64_t;

/// Dropout of our own, as oneDNN 2.6 has none. Reads and writes the same layout; the mask uses
/// logical indices.
class DropoutLoop {
 public:
  DropoutLoop(const Desc& desc, double probability)
      : dims_(dims_of(desc)),
        dense_(same_memory(desc, plain(dims_, type_of(desc)))),
        type_(type_of(desc)),
        offsets_(std::make_shared<const Offsets>(desc)),
        probability_(probability) {}

  void operator()(const PassPlan::Addresses& addresses, const Operands& operands) const {
    const DropoutMask mask(probability_, operands.seed);
    if (type_ == DataType::f32) {
      apply(mask, reinterpret_cast<const float*>(addresses[0]),
            reinterpret_cast<float*>(addresses[1]));
    } else {
      apply(mask, reinterpret_cast<const std::uint16_t*>(addresses[0]),
            reinterpret_cast<std::uint16_t*>(addresses[1]));
    }
  }

 private:
  static float scaled(float value, float factor) { return value * factor; }
  static std::uint16_t scaled(std::uint16_t value, float factor) {
    return to_bfloat16(from_bfloat16(value) * factor);
  }

  template <class Element>
  void apply(const DropoutMask& mask, const Element* from, Element* to) const {
    if (dense_) {
      apply_dense(mask, from, to);
    } else {
      apply_blocked(mask, from, to);
    }
  }

  template <class Element>
  void apply_dense(const DropoutMask& mask, const Element* from, Element* to) const {
    const Index elements = dims_[0] * dims_[1] * dims_[2] * dims_[3];
#pragma omp parallel for
    for (Index i = 0; i < elements; ++i) {
      to[i] = scaled(from[i], mask.factor(static_cast<std::uint64_t>(i)));
    }
  }

  template <class Element>
  void apply_blocked(const DropoutMask& mask, const Element* from, Element* to) const {
    const Index channels = dims_[1];
    const Index height = dims_[2];
    const Index width = dims_[3];
#pragma omp parallel for collapse(2)
    for (Index n = 0; n < dims_[0]; ++n) {
      for (Index c = 0; c < channels; ++c) {
        for (Index h = 0; h < height; ++h) {
          for (Index w = 0; w < width; ++w) {
            const Index logical = ((n * channels + c) * height + h) * width + w;
            const std::size_t at = offsets_->at(n, c, h, w);
            to[at] = scaled(from[at], mask.factor(static_cast<std::uint64_t>(logical)));
          }
        }
      }
    }
  }

  MemoryDims dims_;
  bool dense_;
  DataType type_;
  std::shared_ptr<const Offsets> offsets_;
  double probability_;
};

}  // namespace

void assemble_dropout(Assembly& assembly, const Dropout& kind) {
  const Desc x = assembly.input().desc;
  const DropoutLoop loop(x, kind.probability);
  assembly.set_output(x);
  assembly.plan(Pass::forward)
      .add_loop({{reads(0, assembly.input()), x}, {writes(1, assembly.output()), x}}, loop);
  assembly.plan(Pass::backward_data)
      .add_loop(
          {{reads(0, assembly.output_gradient()), x}, {writes(1, assembly.input_gradient()), x}},
          loop);
}

}  // namespace dlscale::backend::onednn_device
