#include "backend/compute/native/gemm.hpp"
#include "backend/compute/native/winograd_passes.hpp"
#include "backend/compute/native/winograd_plan.hpp"

namespace dlscale::backend::native_device::winograd {

namespace {

/// A pass as correlations, one a group, of `inputs` planes with `outputs` × `inputs` filters.
struct Correlation {
  Index images, groups;
  Index inputs, in_height, in_width;  ///< inputs, outputs: of a group
  Index outputs, out_height, out_width;
  Index pad;
};

/// How filters lie in memory, each of 3 × 3.
enum class FilterOrder {
  by_output,        ///< outputs × inputs
  by_input_turned,  ///< inputs × outputs, turned by half: the transpose of a correlation
};

/// Forward and backward_data. For each block of tiles and each of outputs, with one product
/// M = U V for each element of a tile (Lavin and Gray, section 4.1):
///   U outputs × inputs, transformed filters; V inputs × tiles; M outputs × tiles
class CorrelationPass final : public ConvolutionPass {
 public:
  CorrelationPass(const Correlation& shape, FilterOrder order, int m, int threads)
      : shape_(shape),
        order_(order),
        kernels_(kernels(m)),
        outputs_(lowering::output_blocks(shape.outputs, m + 2, shape.inputs)),
        tiling_(m, shape.images, shape.out_height, shape.out_width, shape.inputs + outputs_.size,
                threads),
        u_(order == FilterOrder::by_output ? Stack(m + 2, outputs_.size, shape.inputs)
                                           : Stack(m + 2, shape.inputs, outputs_.size)),
        v_(m + 2, shape.inputs, tiling_.blocks().size),
        m_(m + 2, outputs_.size, tiling_.blocks().size) {}

  [[nodiscard]] std::string implementation() const override {
    return implementation_name(kernels_, tiling_.m(), 3);
  }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return (filter_elements() + v_.total + m_.total + tiling_.strips()) * sizeof(float);
  }

  void run(const float* first, const float* second, float* result, std::byte* scratch) override {
    auto* u = reinterpret_cast<float*>(scratch);
    const Memory memory{u, u + filter_elements(), u + filter_elements() + v_.total,
                        u + filter_elements() + v_.total + m_.total};
    tiling_.clear(memory.strips);
    const Index in_plane = shape_.in_height * shape_.in_width;
    const Index out_plane = shape_.out_height * shape_.out_width;
    for (Index group = 0; group < shape_.groups; ++group) {
      run_group(
          {first + group * shape_.inputs * in_plane, shape_.groups * shape_.inputs * in_plane,
           shape_.in_height, shape_.in_width, shape_.pad},
          second + group * shape_.outputs * shape_.inputs * 9,
          {result + group * shape_.outputs * out_plane, shape_.groups * shape_.outputs * out_plane,
           shape_.out_height, shape_.out_width, 0},
          memory);
    }
  }

 private:
  struct Memory {
    float* u;
    float* v;
    float* m;
    float* strips;
  };

  /// Transformed filters are kept for the next block of tiles, if there is one.
  [[nodiscard]] bool keeps_filters() const { return tiling_.blocks().count() > 1; }
  [[nodiscard]] Index filter_elements() const {
    return u_.total * (keeps_filters() ? outputs_.count() : 1);
  }

  void run_group(const Planes<const float>& inputs, const float* filters,
                 const Planes<float>& outputs, const Memory& memory) const {
    const Blocks& blocks = tiling_.blocks();
    for (Index first = 0; first < blocks.total; first += blocks.size) {
      const TileRange tiles{first, first + blocks.length(first)};
      tiling_.read(kernels_.data, tiles, inputs, shape_.inputs, v_, memory.v, memory.strips);
      for (Index output = 0; output < shape_.outputs; output += outputs_.size) {
        float* u = memory.u + (keeps_filters() ? output / outputs_.size * u_.total : 0);
        if (first == 0) transform_filters(filters, output, u);
        multiply_all(u, memory.v, memory.m, outputs_.length(output), tiles.last - tiles.first);
        write(memory.m, tiles, outputs, output);
      }
    }
  }

  void transform_filters(const float* filters, Index first, float* u) const {
    const Index count = outputs_.length(first);
    if (order_ == FilterOrder::by_output) {
      parallel_for(tiling_.threads(), count, [&](Index row, int /*thread*/) {
        kernels_.filter(filters + (first + row) * shape_.inputs * 9, shape_.inputs,
                        u + row * u_.stride, u_.size);
      });
    } else {
      parallel_for(tiling_.threads(), shape_.inputs, [&](Index row, int /*thread*/) {
        kernels_.rotated_filter(filters + (row * shape_.outputs + first) * 9, count,
                                u + row * u_.stride, u_.size);
      });
    }
  }

  void multiply_all(const float* u, const float* v, float* m, Index outputs, Index tiles) const {
    const bool transposed = order_ == FilterOrder::by_input_turned;
    tiling_.for_products(outputs, [&](Index e, Index row, Index rows) {
      const float* a = u + e * u_.size + row * (transposed ? 1 : u_.stride);
      multiply(rows, tiles, shape_.inputs, {a, u_.stride, transposed}, {v + e * v_.size, v_.stride},
               m + e * m_.size + row * m_.stride, m_.stride);
    });
  }

  void write(const float* m, TileRange tiles, const Planes<float>& outputs, Index first) const {
    parallel_for(tiling_.threads(), outputs_.length(first), [&](Index row, int /*thread*/) {
      Planes<float> planes = outputs;
      planes.data += (first + row) * planes.height * planes.width;
      kernels_.output(tiling_.grid(), tiles, m + row * m_.stride, m_.size, planes);
    });
  }

  Correlation shape_;
  FilterOrder order_;
  Kernels kernels_;
  Blocks outputs_;
  Tiling tiling_;
  Stack u_;
  Stack v_;
  Stack m_;
};

}  // namespace

std::unique_ptr<ConvolutionPass> make_forward(const ConvolutionShape& shape, int m, int threads) {
  const Correlation correlation{shape.images,     shape.groups,    shape.channels / shape.groups,
                                shape.height,     shape.width,     shape.outputs / shape.groups,
                                shape.out_height, shape.out_width, shape.pad};
  return std::make_unique<CorrelationPass>(correlation, FilterOrder::by_output, m, threads);
}

std::unique_ptr<ConvolutionPass> make_backward_data(const ConvolutionShape& shape, int m,
                                                    int threads) {
  const Correlation correlation{shape.images,     shape.groups,    shape.outputs / shape.groups,
                                shape.out_height, shape.out_width, shape.channels / shape.groups,
                                shape.height,     shape.width,     2 - shape.pad};
  return std::make_unique<CorrelationPass>(correlation, FilterOrder::by_input_turned, m, threads);
}

}  // namespace dlscale::backend::native_device::winograd
