#include "backend/compute/native/gemm.hpp"
#include "backend/compute/native/winograd_passes.hpp"
#include "backend/compute/native/winograd_plan.hpp"

namespace dlscale::backend::native_device::winograd {

namespace {

/// backward_filter: F(3 × 3, m × m) with tiles of dy as filters (Lavin and Gray, section 4). For
/// each block of tiles, with one product D += Y Xᵀ for each element of a tile:
///   D K × C, transformed gradient; Y K × tiles, of dy; X C × tiles, of x (C, K: of a group)
class FilterGradientPass final : public ConvolutionPass {
 public:
  FilterGradientPass(const ConvolutionShape& shape, int m, int threads)
      : shape_(shape),
        channels_(shape.channels / shape.groups),
        kernels_(kernels(m)),
        outputs_(lowering::output_blocks(shape.outputs / shape.groups, m + 2, channels_)),
        tiling_(m, shape.images, shape.out_height, shape.out_width, channels_ + outputs_.total,
                threads),
        x_(m + 2, channels_, tiling_.blocks().size),
        y_(m + 2, outputs_.total, tiling_.blocks().size),
        d_(m + 2, outputs_.size, channels_) {}

  [[nodiscard]] std::string implementation() const override {
    return implementation_name(kernels_, 3, tiling_.m());
  }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return (x_.total + y_.total + gradient_elements() + tiling_.strips()) * sizeof(float);
  }

  void run(const float* first, const float* second, float* result, std::byte* scratch) override {
    auto* x = reinterpret_cast<float*>(scratch);
    const Memory memory{x, x + x_.total, x + x_.total + y_.total,
                        x + x_.total + y_.total + gradient_elements()};
    tiling_.clear(memory.strips);
    const Index in_plane = shape_.height * shape_.width;
    const Index out_plane = shape_.out_height * shape_.out_width;
    for (Index group = 0; group < shape_.groups; ++group) {
      run_group({first + group * channels_ * in_plane, shape_.channels * in_plane, shape_.height,
                 shape_.width, shape_.pad},
                {second + group * outputs_.total * out_plane, shape_.outputs * out_plane,
                 shape_.out_height, shape_.out_width, 0},
                result + group * outputs_.total * channels_ * 9, memory);
    }
  }

 private:
  struct Memory {
    float* x;
    float* y;
    float* d;
    float* strips;
  };

  /// The sums are kept over all blocks of tiles; of one block they are finished output by output.
  [[nodiscard]] bool keeps_sums() const { return tiling_.blocks().count() > 1; }
  [[nodiscard]] Index gradient_elements() const {
    return d_.total * (keeps_sums() ? outputs_.count() : 1);
  }

  void run_group(const Planes<const float>& x, const Planes<const float>& dy, float* dw,
                 const Memory& memory) const {
    const Blocks& blocks = tiling_.blocks();
    for (Index first = 0; first < blocks.total; first += blocks.size) {
      const TileRange tiles{first, first + blocks.length(first)};
      tiling_.read(kernels_.data, tiles, x, channels_, x_, memory.x, memory.strips);
      tiling_.read(kernels_.gradient, tiles, dy, outputs_.total, y_, memory.y, memory.strips);
      for (Index output = 0; output < outputs_.total; output += outputs_.size) {
        float* d = memory.d + (keeps_sums() ? output / outputs_.size * d_.total : 0);
        multiply_all(memory.y + output * y_.stride, memory.x, d, outputs_.length(output), tiles);
        if (tiles.last == blocks.total)
          write(d, outputs_.length(output), dw + output * channels_ * 9);
      }
    }
  }

  void multiply_all(const float* y, const float* x, float* d, Index outputs,
                    TileRange tiles) const {
    tiling_.for_products(outputs, [&](Index e, Index row, Index rows) {
      multiply(rows, channels_, tiles.last - tiles.first,
               {y + e * y_.size + row * y_.stride, y_.stride}, {x + e * x_.size, x_.stride, true},
               d + e * d_.size + row * d_.stride, d_.stride, tiles.first > 0);
    });
  }

  void write(const float* d, Index outputs, float* dw) const {
    parallel_for(tiling_.threads(), outputs, [&](Index row, int /*thread*/) {
      kernels_.filter_gradient(d + row * d_.stride, d_.size, channels_, dw + row * channels_ * 9);
    });
  }

  ConvolutionShape shape_;
  Index channels_;
  Kernels kernels_;
  Blocks outputs_;
  Tiling tiling_;
  Stack x_;
  Stack y_;
  Stack d_;
};

}  // namespace

std::unique_ptr<ConvolutionPass> make_backward_filter(const ConvolutionShape& shape, int m,
                                                      int threads) {
  return std::make_unique<FilterGradientPass>(shape, m, threads);
}

}  // namespace dlscale::backend::native_device::winograd
