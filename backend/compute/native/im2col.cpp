#include "backend/compute/native/im2col.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/compute/host_gemm.hpp"
#include "backend/compute/native/convolution/convolution.hpp"
#include "backend/compute/native/convolution/workers.hpp"
#include "core/base/error.hpp"
#include "core/convolution/pixel_blocks.hpp"

namespace dlscale::backend::native_device {
namespace {

/// The patches of an image that the pixels of some output rows see, as a matrix. It has a row for
/// each weight of one output (c, r, s), and a column for each pixel (p, q).
class Patches {
 public:
  /// Patches of `channels` channels from the first one given.
  Patches(const ConvolutionShape& shape, std::int64_t channels)
      : shape_(&shape), channels_(channels) {}
  [[nodiscard]] std::int64_t rows() const {
    return channels_ * shape_->kernel_h * shape_->kernel_w;
  }
  /// Writes columns for output rows [first, last) of `image`, with zeros where a patch crosses the
  /// edge. `stride`: elements between rows of the matrix.
  void gather(const float* image, std::int64_t first, std::int64_t last, float* matrix,
              std::int64_t stride) const;
  /// Adds columns of gradients to the image they were gathered from (col2im).
  void scatter_add(const float* matrix, std::int64_t stride, std::int64_t first, std::int64_t last,
                   float* image) const;

 private:
  const ConvolutionShape* shape_;
  std::int64_t channels_;
};

/// The pixels q of an output row whose tap s reads inside the input row, at q · stride + s - pad.
struct Inside {
  std::int64_t first;
  std::int64_t last;
  std::int64_t shift;  ///< the input pixel's offset
};

Inside inside(const ConvolutionShape& shape, std::int64_t tap) {
  const std::int64_t shift = tap - shape.pad;
  const std::int64_t stride = shape.stride;
  const std::int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const std::int64_t last = shape.width <= shift ? 0 : (shape.width - shift - 1) / stride + 1;
  const std::int64_t begin = std::min(first, shape.out_width);
  return {begin, std::clamp(last, begin, shape.out_width), shift};
}

void gather_row(const ConvolutionShape& shape, const Inside& span, const float* row, float* to) {
  std::fill(to, to + span.first, 0.0F);
  if (shape.stride == 1) {
    std::copy(row + span.first + span.shift, row + span.last + span.shift, to + span.first);
  } else {
    for (std::int64_t q = span.first; q < span.last; ++q) {
      to[q] = row[q * shape.stride + span.shift];
    }
  }
  std::fill(to + span.last, to + shape.out_width, 0.0F);
}

void add_row(const ConvolutionShape& shape, const Inside& span, const float* from, float* row) {
  if (shape.stride == 1) {
    for (std::int64_t q = span.first; q < span.last; ++q) row[q + span.shift] += from[q];
  } else {
    for (std::int64_t q = span.first; q < span.last; ++q) {
      row[q * shape.stride + span.shift] += from[q];
    }
  }
}

/// Calls visit(row of the matrix, column of the row's first pixel, offset of the row in the image
/// or -1 outside, span) for every tap and output row.
template <class Visit>
void for_each_row(const ConvolutionShape& shape, std::int64_t channels, std::int64_t first,
                  std::int64_t last, const Visit& visit) {
  std::int64_t row = 0;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t r = 0; r < shape.kernel_h; ++r) {
      for (std::int64_t s = 0; s < shape.kernel_w; ++s, ++row) {
        const Inside span = inside(shape, s);
        for (std::int64_t p = first; p < last; ++p) {
          const std::int64_t h = p * shape.stride + r - shape.pad;
          const bool within = h >= 0 && h < shape.height;
          visit(row, (p - first) * shape.out_width,
                within ? (c * shape.height + h) * shape.width : -1, span);
        }
      }
    }
  }
}

void Patches::gather(const float* image, std::int64_t first, std::int64_t last, float* matrix,
                     std::int64_t stride) const {
  for_each_row(*shape_, channels_, first, last,
               [&](std::int64_t row, std::int64_t column, std::int64_t at, const Inside& span) {
                 float* to = matrix + row * stride + column;
                 if (at < 0) {
                   std::fill(to, to + shape_->out_width, 0.0F);
                 } else {
                   gather_row(*shape_, span, image + at, to);
                 }
               });
}

void Patches::scatter_add(const float* matrix, std::int64_t stride, std::int64_t first,
                          std::int64_t last, float* image) const {
  for_each_row(*shape_, channels_, first, last,
               [&](std::int64_t row, std::int64_t column, std::int64_t at, const Inside& span) {
                 if (at >= 0) {
                   add_row(*shape_, span, matrix + row * stride + column, image + at);
                 }
               });
}

using convolution::PixelBlock;

/// Base of the three passes: the blocks, and the memory of a thread.
class Im2colPass : public ConvolutionPass {
 public:
  Im2colPass(const ConvolutionShape& shape, int threads)
      : shape_(shape),
        patches_(shape_, shape.channels / shape.groups),
        blocks_(convolution::cut_pixels(shape_, convolution::patch_columns(shape_))),
        held_(convolution::held_matrices(shape_, blocks_.front())),
        threads_(threads) {}
  Im2colPass(const Im2colPass&) = delete;
  Im2colPass& operator=(const Im2colPass&) = delete;
  ~Im2colPass() override = default;

  [[nodiscard]] std::string implementation() const override {
    return lies_in_image(blocks_.front()) ? "gemm" : "im2col+gemm";
  }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return static_cast<std::size_t>(threads_ * per_thread()) * sizeof(float);
  }

 protected:
  /// The memory of a thread (of a range of blocks), as held_matrices() describes it.
  struct Memory {
    float* patches;
    float* outputs;
    float* rest;  ///< own_elements()
  };

  [[nodiscard]] virtual std::int64_t own_elements() const { return 0; }
  [[nodiscard]] std::int64_t per_thread() const {
    return round_up(held_.patches + held_.outputs) + round_up(own_elements());
  }
  [[nodiscard]] Memory memory(std::byte* scratch, int thread) const {
    float* start = reinterpret_cast<float*>(scratch) + thread * per_thread();
    return {start, start + held_.patches, start + round_up(held_.patches + held_.outputs)};
  }

  [[nodiscard]] const ConvolutionShape& shape() const { return shape_; }
  [[nodiscard]] const Patches& patches() const { return patches_; }
  [[nodiscard]] const std::vector<PixelBlock>& blocks() const { return blocks_; }
  [[nodiscard]] int threads() const { return threads_; }
  /// K / groups.
  [[nodiscard]] std::int64_t outputs() const { return shape_.outputs / shape_.groups; }
  [[nodiscard]] std::int64_t pixels() const { return shape_.out_height * shape_.out_width; }
  [[nodiscard]] std::int64_t input_at(std::int64_t image, std::int64_t group) const {
    const std::int64_t channels = shape_.channels / shape_.groups;
    return (image * shape_.channels + group * channels) * shape_.height * shape_.width;
  }
  [[nodiscard]] std::int64_t output_at(const PixelBlock& block, std::int64_t image,
                                       std::int64_t group) const {
    return (image * shape_.outputs + group * outputs()) * pixels() +
           block.first_row * shape_.out_width;
  }
  [[nodiscard]] std::int64_t weights_at(std::int64_t group) const {
    return group * outputs() * patches_.rows();
  }

  /// Whether a block uses its patches in the image without writing them out. The first block, which
  /// is the largest, has several images if any block has.
  [[nodiscard]] bool lies_in_image(const PixelBlock& block) const {
    return convolution::is_pointwise(shape_) && block.images() == 1;
  }

  /// The patches of a block: written to `memory`, or at their place in x.
  [[nodiscard]] Matrix patches_of(const float* x, const PixelBlock& block, std::int64_t group,
                                  const Memory& memory) const {
    if (lies_in_image(block)) {
      return {x + input_at(block.first_image, group) + block.first_row * shape_.width,
              shape_.height * shape_.width};
    }
    const std::int64_t columns = block.columns(shape_);
    for (std::int64_t n = block.first_image; n < block.last_image; ++n) {
      patches_.gather(x + input_at(n, group), block.first_row, block.last_row,
                      memory.patches + (n - block.first_image) * columns / block.images(), columns);
    }
    return {memory.patches, columns};
  }

  /// The gradients of a block's outputs, K / groups × columns.
  [[nodiscard]] Matrix outputs_of(const float* dy, const PixelBlock& block, std::int64_t group,
                                  const Memory& memory) const {
    if (block.images() == 1) {
      return {dy + output_at(block, block.first_image, group), pixels()};
    }
    const std::int64_t columns = block.columns(shape_);
    for_each_line(block, group, [&](std::int64_t in_memory, std::int64_t in_tensor) {
      std::copy_n(dy + in_tensor, pixels(), memory.outputs + in_memory);
    });
    return {memory.outputs, columns};
  }

  /// Calls visit(place in a matrix of outputs, place in the tensor) for every plane of a block of
  /// several images.
  template <class Visit>
  void for_each_line(const PixelBlock& block, std::int64_t group, const Visit& visit) const {
    const std::int64_t columns = block.columns(shape_);
    for (std::int64_t n = block.first_image; n < block.last_image; ++n) {
      const std::int64_t plane = output_at(block, n, group);
      for (std::int64_t k = 0; k < outputs(); ++k) {
        visit(k * columns + (n - block.first_image) * pixels(), plane + k * pixels());
      }
    }
  }

 private:
  ConvolutionShape shape_;
  Patches patches_;
  std::vector<PixelBlock> blocks_;
  convolution::HeldMatrices held_;  ///< the first block's, which is the largest
  int threads_;
};

/// y = w · patches(x)
class Forward final : public Im2colPass {
 public:
  using Im2colPass::Im2colPass;
  void run(const float* x, const float* w, float* y, std::byte* scratch) override {
    parallel_for(threads(), std::ssize(blocks()), [&](std::int64_t i, int thread) {
      for (std::int64_t group = 0; group < shape().groups; ++group) {
        compute(x, w, y, blocks()[static_cast<std::size_t>(i)], group, memory(scratch, thread));
      }
    });
  }

 private:
  void compute(const float* x, const float* w, float* y, const PixelBlock& block,
               std::int64_t group, const Memory& memory) const {
    const Matrix weights{w + weights_at(group), patches().rows()};
    const Matrix seen = patches_of(x, block, group, memory);
    const std::int64_t columns = block.columns(shape());
    if (block.images() == 1) {
      return multiply(outputs(), columns, patches().rows(), weights, seen,
                      y + output_at(block, block.first_image, group), pixels());
    }
    multiply(outputs(), columns, patches().rows(), weights, seen, memory.outputs, columns);
    for_each_line(block, group, [&](std::int64_t in_memory, std::int64_t in_tensor) {
      std::copy_n(memory.outputs + in_memory, pixels(), y + in_tensor);
    });
  }
};

/// dx = patches⁻¹(wᵀ · dy). The patches of an image overlap, but not those of its channels. So
/// threads share images, groups and ranges of channels.
class BackwardData final : public Im2colPass {
 public:
  BackwardData(const ConvolutionShape& shape, int threads)
      : Im2colPass(shape, threads),
        parts_(convolution::image_parts(blocks())),
        ranges_(convolution::channel_ranges(shape, std::ssize(parts_), threads)) {}

  void run(const float* dy, const float* w, float* dx, std::byte* scratch) override {
    const std::int64_t of_part = shape().groups * ranges_.count();
    parallel_for(threads(), std::ssize(parts_) * of_part, [&](std::int64_t i, int thread) {
      const auto& part = parts_[static_cast<std::size_t>(i / of_part)];
      const std::int64_t first = i % ranges_.count() * ranges_.size;
      const Range range{i % of_part / ranges_.count(), first, ranges_.length(first)};
      if (!lies_in_image(part.front())) clear(dx, part.front(), range);
      for (const PixelBlock& block : part)
        compute(dy, w, dx, block, range, memory(scratch, thread));
    });
  }

 private:
  /// Some input channels of a group, counted within it.
  struct Range {
    std::int64_t group;
    std::int64_t first;
    std::int64_t count;
  };

  [[nodiscard]] std::int64_t plane() const { return shape().height * shape().width; }
  [[nodiscard]] std::int64_t range_at(std::int64_t image, const Range& range) const {
    return input_at(image, range.group) + range.first * plane();
  }

  void clear(float* dx, const PixelBlock& block, const Range& range) const {
    for (std::int64_t n = block.first_image; n < block.last_image; ++n) {
      std::fill_n(dx + range_at(n, range), range.count * plane(), 0.0F);
    }
  }

  void compute(const float* dy, const float* w, float* dx, const PixelBlock& block,
               const Range& range, const Memory& memory) const {
    const std::int64_t taps = shape().kernel_h * shape().kernel_w;
    const Patches mine(shape(), range.count);
    const Matrix weights{w + weights_at(range.group) + range.first * taps, patches().rows(), true};
    const Matrix gradients = outputs_of(dy, block, range.group, memory);
    const std::int64_t columns = block.columns(shape());
    if (lies_in_image(block)) {
      return multiply(mine.rows(), columns, outputs(), weights, gradients,
                      dx + range_at(block.first_image, range) + block.first_row * shape().width,
                      plane());
    }
    multiply(mine.rows(), columns, outputs(), weights, gradients, memory.patches, columns);
    for (std::int64_t n = block.first_image; n < block.last_image; ++n) {
      mine.scatter_add(memory.patches + (n - block.first_image) * columns / block.images(), columns,
                       block.first_row, block.last_row, dx + range_at(n, range));
    }
  }

  std::vector<std::span<const PixelBlock>> parts_;  ///< parts of blocks()
  convolution::Blocks ranges_;                      ///< ranges of a group's channels
};

/// dw = Σ over blocks of dy · patches(x)ᵀ. Each range of blocks adds to its own sum.
class BackwardFilter final : public Im2colPass {
 public:
  using Im2colPass::Im2colPass;
  void run(const float* x, const float* dy, float* dw, std::byte* scratch) override {
    const auto count = std::ssize(blocks());
    parallel_ranges(threads(), count, [&](std::int64_t first, std::int64_t last, int range) {
      const Memory mine = memory(scratch, range);
      for (std::int64_t i = first; i < last; ++i) {
        for (std::int64_t group = 0; group < shape().groups; ++group) {
          compute(x, dy, blocks()[static_cast<std::size_t>(i)], group, mine, i > first);
        }
      }
    });
    add_sums(dw, scratch, range_count(threads(), count));
  }

 private:
  [[nodiscard]] std::int64_t own_elements() const override {
    return shape().outputs * patches().rows();
  }

  /// dw = the total of the ranges' sums.
  void add_sums(float* dw, std::byte* scratch, int ranges) const {
    const std::int64_t filter = patches().rows();
    parallel_for(threads(), shape().outputs, [&](std::int64_t k, int /*thread*/) {
      std::fill_n(dw + k * filter, filter, 0.0F);
      for (int range = 0; range < ranges; ++range) {
        const float* sum = memory(scratch, range).rest;
        for (std::int64_t i = k * filter; i < (k + 1) * filter; ++i) dw[i] += sum[i];
      }
    });
  }

  void compute(const float* x, const float* dy, const PixelBlock& block, std::int64_t group,
               const Memory& memory, bool add) const {
    Matrix seen = patches_of(x, block, group, memory);
    seen.transposed = true;
    multiply(outputs(), patches().rows(), block.columns(shape()),
             outputs_of(dy, block, group, memory), seen, memory.rest + weights_at(group),
             patches().rows(), add);
  }
};

std::unique_ptr<ConvolutionPass> make(const ConvolutionShape& shape, Pass pass, int threads) {
  switch (pass) {
    case Pass::forward:
      return std::make_unique<Forward>(shape, threads);
    case Pass::backward_data:
      return std::make_unique<BackwardData>(shape, threads);
    case Pass::backward_filter:
      return std::make_unique<BackwardFilter>(shape, threads);
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass is one of a convolution");
}

}  // namespace

const ConvolutionAlgorithm im2col{.name = "im2col",
                                  .doc = "patches written out as a matrix, then one matrix product",
                                  .make = make};

}  // namespace dlscale::backend::native_device
