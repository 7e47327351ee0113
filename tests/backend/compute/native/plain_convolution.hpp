#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backend/compute/native/convolution/convolution.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"

namespace dlscale::backend::native_device {

inline constexpr std::array convolution_passes{Pass::forward, Pass::backward_data,
                                               Pass::backward_filter};

/// A shape with the output that follows from the rest.
ConvolutionShape shape_of(std::int64_t images, std::int64_t channels, std::int64_t height,
                          std::int64_t width, std::int64_t outputs, std::int64_t kernel_h,
                          std::int64_t kernel_w, std::int64_t stride, std::int64_t pad,
                          std::int64_t groups = 1);

/// Memory at a multiple of 64 whose bytes are all ones (as floats: NaN), guarded at both ends.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes) {
    storage_.assign(bytes + 2 * guard, std::byte{0xFF});
    const auto address = reinterpret_cast<std::uintptr_t>(storage_.data());
    begin_ = (64 - address % 64) % 64;
  }
  [[nodiscard]] std::byte* data() { return storage_.data() + begin_; }
  [[nodiscard]] float* floats() { return reinterpret_cast<float*>(data()); }
  [[nodiscard]] bool intact() const {
    const auto is_guard = [](std::byte byte) { return byte == std::byte{0xFF}; };
    const auto begin = storage_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(storage_.begin(), begin, is_guard) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), is_guard);
  }

 private:
  static constexpr std::size_t guard = 256;
  std::size_t bytes_;
  std::size_t begin_ = 0;
  std::vector<std::byte> storage_;
};

/// Normally distributed operands of a pass, and its result by plain loops in double.
struct PassData {
  std::vector<float> first, second;
  std::vector<double> result;
};
/// The operands are rounded to `dtype` first.
PassData pass_data(const ConvolutionShape& shape, Pass pass, DType dtype = DType::f32);

/// max |a - b| / rms(b); infinite if a is not finite.
double relative_error(std::span<const float> a, std::span<const double> b);

/// relative_error() of a pass, with scratch memory of exactly what it asks for, all of it NaN
/// before, as the result is, and both guarded at their ends. The larger of two runs, of which the
/// second meets scratch as the first left it.
double error_of(ConvolutionPass& pass, const PassData& data);

/// The words with which an algorithm refuses a pass; empty where it makes one.
std::string refusal_of(const ConvolutionAlgorithm& algorithm, const ConvolutionShape& shape,
                       Pass pass, int threads = 1);

}  // namespace dlscale::backend::native_device
