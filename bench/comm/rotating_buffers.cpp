#include "bench/comm/rotating_buffers.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"

namespace dlscale::bench {
namespace {

constexpr std::size_t line_elements = 64 / sizeof(float);

std::size_t whole_lines(std::size_t elements) {
  return (elements + line_elements - 1) / line_elements * line_elements;
}

std::size_t buffers_for(std::size_t stride, Bytes size) {
  if (size <= Bytes(0)) return 1;
  const double bytes = static_cast<double>(stride * sizeof(float));
  return static_cast<std::size_t>(std::ceil(size.si() / bytes)) + 1;
}

}  // namespace

RotatingBuffers::RotatingBuffers(std::size_t elements, Bytes size)
    : elements_(elements),
      stride_(whole_lines(elements)),
      count_(buffers_for(stride_, size)),
      memory_(std::make_unique_for_overwrite<float[]>(stride_ * count_)) {
  EXPECT(elements >= 1);
}

std::span<float> RotatingBuffers::next() {
  if (turn_ == 0) std::fill_n(memory_.get(), stride_ * count_, 1.0F);
  const std::span<float> buffer(memory_.get() + turn_ * stride_, elements_);
  turn_ = (turn_ + 1) % count_;
  return buffer;
}

}  // namespace dlscale::bench
