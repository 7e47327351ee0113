#include "backend/compute/host_gemm.hpp"
#include "backend/compute/native/winograd/winograd_plan.hpp"

namespace dlscale::backend::native_device::winograd {

namespace {

/// A pass as one correlation per group, of `inputs` planes with `outputs` × `inputs` filters.
struct Correlation {
  Index images, groups;
  Index inputs, in_height, in_width;  ///< inputs and outputs of a group
  Index outputs, out_height, out_width;
  Index pad;
};

/// Order of the 3 × 3 filters in memory.
enum class FilterOrder {
  by_output,        ///< outputs × inputs
  by_input_turned,  ///< inputs × outputs, turned by half: the transpose of a correlation
};

/// Forward and backward_data. For each block of tiles and each of outputs, with one product
/// M = U V for each element of a tile (Lavin and Gray, section 4.1):
///   U outputs × inputs, transformed filters; V inputs × tiles; M outputs × tiles
class CorrelationPass final : public ConvolutionPass {
 public:
  CorrelationPass(const Correlation& shape, FilterOrder order, int m, Schedule schedule,
                  int threads)
      : shape_(shape),
        order_(order),
        kernels_(kernels(m)),
        outputs_(convolution::output_blocks(shape.outputs, m + 2, shape.inputs)),
        tiling_(m, shape.images, shape.out_height, shape.out_width, shape.inputs + outputs_.size,
                schedule, threads),
        u_(order == FilterOrder::by_output ? Stack(m + 2, outputs_.size, shape.inputs)
                                           : Stack(m + 2, shape.inputs, outputs_.size)),
        v_(m + 2, shape.inputs, tiling_.blocks().size),
        m_(m + 2, outputs_.size, tiling_.blocks().size) {}

  [[nodiscard]] std::string implementation() const override {
    return implementation_name(kernels_, tiling_, tiling_.m(), 3);
  }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return (filter_elements() + tiling_.holders() * (v_.total + m_.total) + tiling_.strips()) *
           sizeof(float);
  }

  void run(const float* first, const float* second, float* result, std::byte* scratch) override {
    run_groups(first, second, nullptr, result, scratch);
  }

  [[nodiscard]] std::size_t kept_bytes() const override {
    return shape_.groups * all_filters() * sizeof(float);
  }
  void keep(const float* second, std::byte* kept, std::byte* /*scratch*/) override {
    auto* u = reinterpret_cast<float*>(kept);
    for (Index group = 0; group < shape_.groups; ++group) {
      transform_all_filters(second + group * filters_of_group(), u + group * all_filters());
    }
  }
  void run_kept(const float* first, const std::byte* kept, float* result,
                std::byte* scratch) override {
    run_groups(first, nullptr, reinterpret_cast<const float*>(kept), result, scratch);
  }

 private:
  struct Memory {
    float* u;
    float* v;
    float* m;
    float* strips;
  };
  /// The tensors of a group: filters as given, or null where `kept` has them transformed.
  struct Group {
    Planes<const float> inputs;
    const float* filters;
    const float* kept;
    Planes<float> outputs;
  };

  [[nodiscard]] bool fused() const { return tiling_.schedule() == Schedule::fused; }
  /// Whether transformed filters are kept for the next block of tiles, if there is one.
  [[nodiscard]] bool holds_all_filters() const { return fused() || tiling_.blocks().count() > 1; }
  [[nodiscard]] Index all_filters() const { return u_.total * outputs_.count(); }
  [[nodiscard]] Index filter_elements() const {
    return holds_all_filters() ? all_filters() : u_.total;
  }
  [[nodiscard]] Index filters_of_group() const { return shape_.outputs * shape_.inputs * 9; }
  /// Position of the transformed filters of the block of outputs that begins with `output`.
  [[nodiscard]] Index place(Index output) const { return output / outputs_.size * u_.total; }

  /// Runs with `filters` or with `kept`; the other is null.
  void run_groups(const float* first, const float* filters, const float* kept, float* result,
                  std::byte* scratch) const {
    auto* u = reinterpret_cast<float*>(scratch);
    float* v = u + filter_elements();
    float* m = v + tiling_.holders() * v_.total;
    const Memory memory{u, v, m, m + tiling_.holders() * m_.total};
    tiling_.clear(memory.strips);
    const Index in_plane = shape_.in_height * shape_.in_width;
    const Index out_plane = shape_.out_height * shape_.out_width;
    for (Index group = 0; group < shape_.groups; ++group) {
      const Group at{
          {first + group * shape_.inputs * in_plane, shape_.groups * shape_.inputs * in_plane,
           shape_.in_height, shape_.in_width, shape_.pad},
          filters == nullptr ? nullptr : filters + group * filters_of_group(),
          kept == nullptr ? nullptr : kept + group * all_filters(),
          {result + group * shape_.outputs * out_plane, shape_.groups * shape_.outputs * out_plane,
           shape_.out_height, shape_.out_width, 0}};
      if (fused()) {
        run_fused(at, memory);
      } else {
        run_staged(at, memory);
      }
    }
  }

  /// Runs stage by stage, with all threads at one block of tiles.
  void run_staged(const Group& group, const Memory& memory) const {
    const Blocks& blocks = tiling_.blocks();
    for (Index first = 0; first < blocks.total; first += blocks.size) {
      const TileRange tiles{first, first + blocks.length(first)};
      tiling_.read(kernels_.data, tiles, group.inputs, shape_.inputs, v_, memory.v, memory.strips);
      for (Index output = 0; output < shape_.outputs; output += outputs_.size) {
        const float* u = staged_filters(group, memory, output, first == 0);
        multiply_all(u, memory.v, memory.m, outputs_.length(output), tiles.last - tiles.first);
        parallel_for(tiling_.threads(), outputs_.length(output), [&](Index row, int /*thread*/) {
          write(memory.m, tiles, group.outputs, output, row);
        });
      }
    }
  }

  [[nodiscard]] const float* staged_filters(const Group& group, const Memory& memory, Index output,
                                            bool anew) const {
    if (group.kept != nullptr) return group.kept + place(output);
    float* u = memory.u + (holds_all_filters() ? place(output) : 0);
    if (anew) transform_filters(group.filters, output, u);
    return u;
  }

  /// Runs every block of tiles on one thread, from the inputs to the outputs.
  void run_fused(const Group& group, const Memory& memory) const {
    if (group.kept == nullptr) transform_all_filters(group.filters, memory.u);
    const float* filters = group.kept == nullptr ? memory.u : group.kept;
    const Blocks& blocks = tiling_.blocks();
    parallel_for(tiling_.threads(), blocks.count(), [&](Index block, int thread) {
      const Index first = block * blocks.size;
      const TileRange tiles{first, first + blocks.length(first)};
      float* v = memory.v + thread * v_.total;
      float* m = memory.m + thread * m_.total;
      tiling_.read_alone(thread, kernels_.data, tiles, group.inputs, shape_.inputs, v_, v,
                         memory.strips);
      for (Index output = 0; output < shape_.outputs; output += outputs_.size) {
        const Index rows = outputs_.length(output);
        for (Index e = 0; e < tiling_.alpha() * tiling_.alpha(); ++e) {
          multiply_rows(filters + place(output), v, m, e, 0, rows, tiles.last - tiles.first);
        }
        for (Index row = 0; row < rows; ++row) write(m, tiles, group.outputs, output, row);
      }
    });
  }

  void transform_all_filters(const float* filters, float* u) const {
    for (Index output = 0; output < shape_.outputs; output += outputs_.size) {
      transform_filters(filters, output, u + place(output));
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
    tiling_.for_products(outputs, [&](Index e, Index row, Index rows) {
      multiply_rows(u, v, m, e, row, rows, tiles);
    });
  }

  /// Computes rows row … row + rows - 1 of product e.
  void multiply_rows(const float* u, const float* v, float* m, Index e, Index row, Index rows,
                     Index tiles) const {
    const bool transposed = order_ == FilterOrder::by_input_turned;
    const float* a = u + e * u_.size + row * (transposed ? 1 : u_.stride);
    multiply(rows, tiles, shape_.inputs, {a, u_.stride, transposed}, {v + e * v_.size, v_.stride},
             m + e * m_.size + row * m_.stride, m_.stride);
  }

  /// Writes output first + row, for a block of outputs that begins with `first`.
  void write(const float* m, TileRange tiles, const Planes<float>& outputs, Index first,
             Index row) const {
    Planes<float> planes = outputs;
    planes.data += (first + row) * planes.height * planes.width;
    kernels_.output(tiling_.grid(), tiles, m + row * m_.stride, m_.size, planes);
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

std::unique_ptr<ConvolutionPass> make_forward(const ConvolutionShape& shape, int m,
                                              Schedule schedule, int threads) {
  const Correlation correlation{shape.images,     shape.groups,    shape.channels / shape.groups,
                                shape.height,     shape.width,     shape.outputs / shape.groups,
                                shape.out_height, shape.out_width, shape.pad};
  return std::make_unique<CorrelationPass>(correlation, FilterOrder::by_output, m, schedule,
                                           threads);
}

std::unique_ptr<ConvolutionPass> make_backward_data(const ConvolutionShape& shape, int m,
                                                    Schedule schedule, int threads) {
  const Correlation correlation{shape.images,     shape.groups,    shape.outputs / shape.groups,
                                shape.out_height, shape.out_width, shape.channels / shape.groups,
                                shape.height,     shape.width,     2 - shape.pad};
  return std::make_unique<CorrelationPass>(correlation, FilterOrder::by_input_turned, m, schedule,
                                           threads);
}

}  // namespace dlscale::backend::native_device::winograd
