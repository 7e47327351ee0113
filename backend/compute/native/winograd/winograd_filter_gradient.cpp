#include <fmt/format.h>

#include <algorithm>

#include "backend/compute/host_gemm.hpp"
#include "backend/compute/native/winograd/winograd_plan.hpp"
#include "core/base/error.hpp"
#include "core/convolution/tile_blocks.hpp"

namespace dlscale::backend::native_device::winograd {

namespace {

/// backward_filter: F(3 × 3, m × m) with tiles of dy as filters (Lavin and Gray, section 4). For
/// each block of tiles, with one product D += Y Xᵀ for each element of a tile:
///   D K × C, transformed gradient; Y K × tiles, of dy; X C × tiles, of x (C, K: of a group)
class FilterGradientPass final : public ConvolutionPass {
 public:
  FilterGradientPass(const ConvolutionShape& shape, int m, Schedule schedule, int threads)
      : shape_(shape),
        channels_(shape.channels / shape.groups),
        kernels_(kernels(m)),
        outputs_(convolution::output_blocks(shape.outputs / shape.groups, m + 2, channels_)),
        tiling_(m, shape.images, shape.out_height, shape.out_width, channels_ + outputs_.total,
                schedule, threads),
        x_(m + 2, channels_, tiling_.blocks().size),
        y_(m + 2, outputs_.total, tiling_.blocks().size),
        d_(m + 2, outputs_.size, channels_) {}

  [[nodiscard]] std::string implementation() const override {
    return implementation_name(kernels_, tiling_, 3, tiling_.m());
  }

  [[nodiscard]] std::size_t scratch_bytes() const override {
    return (tiling_.holders() * (x_.total + y_.total + gradient_elements()) + tiling_.strips()) *
           sizeof(float);
  }

  void run(const float* first, const float* second, float* result, std::byte* scratch) override {
    auto* x = reinterpret_cast<float*>(scratch);
    float* y = x + tiling_.holders() * x_.total;
    float* d = y + tiling_.holders() * y_.total;
    const Memory memory{x, y, d, d + tiling_.holders() * gradient_elements()};
    tiling_.clear(memory.strips);
    const Index in_plane = shape_.height * shape_.width;
    const Index out_plane = shape_.out_height * shape_.out_width;
    for (Index group = 0; group < shape_.groups; ++group) {
      const Group at{{first + group * channels_ * in_plane, shape_.channels * in_plane,
                      shape_.height, shape_.width, shape_.pad},
                     {second + group * outputs_.total * out_plane, shape_.outputs * out_plane,
                      shape_.out_height, shape_.out_width, 0},
                     result + group * outputs_.total * channels_ * 9};
      if (tiling_.schedule() == Schedule::fused) {
        run_fused(at, memory);
      } else {
        run_staged(at, memory);
      }
    }
  }

 private:
  struct Memory {
    float* x;
    float* y;
    float* d;
    float* strips;
  };

  /// The tensors of a group.
  struct Group {
    Planes<const float> x;
    Planes<const float> dy;
    float* dw;
  };

  /// Whether the sums are kept over all blocks of tiles. With one block they are finished output by
  /// output.
  [[nodiscard]] bool keeps_sums() const {
    return tiling_.schedule() == Schedule::fused || tiling_.blocks().count() > 1;
  }
  [[nodiscard]] Index gradient_elements() const {
    return d_.total * (keeps_sums() ? outputs_.count() : 1);
  }
  [[nodiscard]] Index place(Index output) const {
    return keeps_sums() ? output / outputs_.size * d_.total : 0;
  }

  /// Runs stage by stage, with all threads at one block of tiles.
  void run_staged(const Group& group, const Memory& memory) const {
    const Blocks& blocks = tiling_.blocks();
    for (Index first = 0; first < blocks.total; first += blocks.size) {
      const TileRange tiles{first, first + blocks.length(first)};
      tiling_.read(kernels_.data, tiles, group.x, channels_, x_, memory.x, memory.strips);
      tiling_.read(kernels_.gradient, tiles, group.dy, outputs_.total, y_, memory.y, memory.strips);
      for (Index output = 0; output < outputs_.total; output += outputs_.size) {
        float* d = memory.d + place(output);
        tiling_.for_products(outputs_.length(output), [&](Index e, Index row, Index rows) {
          multiply_rows(memory.y + output * y_.stride, memory.x, d, e, row, rows, tiles, first > 0);
        });
        if (tiles.last == blocks.total) write(d, output, group.dw);
      }
    }
  }

  /// Runs every block of tiles on one thread. The blocks of a range add to its own sum.
  void run_fused(const Group& group, const Memory& memory) const {
    const Blocks& blocks = tiling_.blocks();
    parallel_ranges(tiling_.threads(), blocks.count(), [&](Index first, Index last, int range) {
      for (Index block = first; block < last; ++block) {
        const Index tile = block * blocks.size;
        add_block(group, memory, {tile, tile + blocks.length(tile)}, range, block > first);
      }
    });
    add_sums(memory.d, range_count(tiling_.threads(), blocks.count()));
    for (Index output = 0; output < outputs_.total; output += outputs_.size) {
      write(memory.d + place(output), output, group.dw);
    }
  }

  /// Computes the products of one block of a range, and adds them to the range's sum, or stores
  /// them if it is the first.
  void add_block(const Group& group, const Memory& memory, TileRange tiles, int range,
                 bool add) const {
    float* x = memory.x + range * x_.total;
    float* y = memory.y + range * y_.total;
    float* d = memory.d + range * gradient_elements();
    tiling_.read_alone(range, kernels_.data, tiles, group.x, channels_, x_, x, memory.strips);
    tiling_.read_alone(range, kernels_.gradient, tiles, group.dy, outputs_.total, y_, y,
                       memory.strips);
    for (Index output = 0; output < outputs_.total; output += outputs_.size) {
      for (Index e = 0; e < tiling_.alpha() * tiling_.alpha(); ++e) {
        multiply_rows(y + output * y_.stride, x, d + place(output), e, 0, outputs_.length(output),
                      tiles, add);
      }
    }
  }

  /// Adds the sums of the other ranges to those of the first.
  void add_sums(float* sums, int ranges) const {
    const Index part = convolution::most_lanes * 64;
    parallel_for(tiling_.threads(), (gradient_elements() + part - 1) / part, [&](Index i, int) {
      const Index begin = i * part, end = std::min(begin + part, gradient_elements());
      for (int range = 1; range < ranges; ++range) {
        const float* from = sums + range * gradient_elements();
        for (Index at = begin; at < end; ++at) sums[at] += from[at];
      }
    });
  }

  /// Computes rows row … row + rows - 1 of product e, for the outputs that begin at y and d.
  void multiply_rows(const float* y, const float* x, float* d, Index e, Index row, Index rows,
                     TileRange tiles, bool add) const {
    multiply(rows, channels_, tiles.last - tiles.first,
             {y + e * y_.size + row * y_.stride, y_.stride}, {x + e * x_.size, x_.stride, true},
             d + e * d_.size + row * d_.stride, d_.stride, add);
  }

  /// Writes the gradients of the block of outputs that begins with `output`.
  void write(const float* d, Index output, float* dw) const {
    parallel_for(tiling_.threads(), outputs_.length(output), [&](Index row, int /*thread*/) {
      kernels_.filter_gradient(d + row * d_.stride, d_.size, channels_,
                               dw + (output + row) * channels_ * 9);
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

/// Throws Unsupported if the gradients take too much memory. Staged, all threads share one gradient
/// of any size.
void check_memory_of_fused(const ConvolutionShape& shape, int m, int threads) {
  const Index bytes = convolution::fused_gradient_bytes(
      shape.outputs / shape.groups, shape.channels / shape.groups, m + 2, threads);
  if (bytes <= convolution::gradient_limit_bytes) return;
  const Index limit = convolution::gradient_limit_bytes >> 20;
  if (threads == 1) {
    throw Unsupported(fmt::format(
        "{} MiB of transformed gradients: fused Winograd holds up to {} MiB. Choose smaller tiles, "
        "or im2col; winograd_f{} holds as much as this would",
        bytes >> 20, limit, m));
  }
  throw Unsupported(fmt::format(
      "{} MiB of transformed gradients, one for each of {} threads: fused Winograd holds up to {} "
      "MiB; winograd_f{} has one for all, of {} MiB",
      bytes >> 20, threads, limit, m, bytes / threads >> 20));
}

}  // namespace

std::unique_ptr<ConvolutionPass> make_backward_filter(const ConvolutionShape& shape, int m,
                                                      Schedule schedule, int threads) {
  if (schedule == Schedule::fused) check_memory_of_fused(shape, m, threads);
  return std::make_unique<FilterGradientPass>(shape, m, schedule, threads);
}

}  // namespace dlscale::backend::native_device::winograd
