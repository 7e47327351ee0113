#include "backend/compute/native/convolution/patches.hpp"

#include <algorithm>

namespace dlscale::backend::native_device {
namespace {

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

}  // namespace

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

}  // namespace dlscale::backend::native_device
