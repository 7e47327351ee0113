#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/units.hpp"
#include "core/network/network.hpp"

namespace dlscale {

/// A convolution (cross-correlation) of N images of C × H × W to K × P × Q. Padding is the same on
/// opposite sides.
struct ConvolutionShape {
  std::int64_t images = 1;                                  ///< N
  std::int64_t channels = 1, height = 1, width = 1;         ///< C, H, W
  std::int64_t outputs = 1, out_height = 1, out_width = 1;  ///< K, P, Q
  std::int64_t kernel_h = 1, kernel_w = 1;                  ///< R, S
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t groups = 1;
  // As in Convolution: 0 and -1 stand for stride and pad.
  std::int64_t stride_w = 0;
  std::int64_t pad_w = -1;
  std::int64_t dilation = 1;

  [[nodiscard]] std::int64_t stride_along_width() const {
    return stride_w == 0 ? stride : stride_w;
  }
  [[nodiscard]] std::int64_t pad_along_width() const { return pad_w < 0 ? pad : pad_w; }
  /// Whether one stride and one pad hold in both directions, and the filter has no holes.
  [[nodiscard]] bool is_plain() const {
    return stride_along_width() == stride && pad_along_width() == pad && dilation == 1;
  }
  bool operator==(const ConvolutionShape&) const = default;
  /// Weights of one output channel: C / groups · R · S.
  [[nodiscard]] std::int64_t taps() const { return channels / groups * kernel_h * kernel_w; }
  [[nodiscard]] double input_elements() const;   ///< N · C · H · W
  [[nodiscard]] double weight_elements() const;  ///< K · C / groups · R · S
  [[nodiscard]] double output_elements() const;  ///< N · K · P · Q
};

/// A convolution from a kernel_key(), for a batch.
struct KeyedConvolution {
  ConvolutionShape shape;
  bool bias = false;
  bool relu = false;  ///< the layer includes the ReLU after it
};

/// Parses "convolution c64 h56 w56 k256 r1 s1 stride1 pad0 groups1" with the words that follow,
/// such as "stridew1 padw3 dilation1" of a convolution that is not plain.
/// Nothing for keys of other kinds of layers. Throws ConfigError if the key begins so but a size is
/// missing, out of range, or inconsistent with the others.
std::optional<KeyedConvolution> parse_convolution_key(std::string_view key, int batch);

/// F = 2 N K C/groups R S P Q, including padding, for each of the three passes.
Flops direct_flops(const ConvolutionShape& shape);

/// Input, weights and output once each, in elements of 4 bytes.
Bytes least_bytes(const ConvolutionShape& shape);

}  // namespace dlscale
