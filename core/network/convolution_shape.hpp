#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/base/units.hpp"
#include "core/network/network.hpp"

namespace dlscale {

/// A convolution (cross-correlation) of N images of C × H × W to K × P × Q. Padding is the same on
/// all four sides, stride the same in both dimensions.
struct ConvolutionShape {
  std::int64_t images = 1;                                  ///< N
  std::int64_t channels = 1, height = 1, width = 1;         ///< C, H, W
  std::int64_t outputs = 1, out_height = 1, out_width = 1;  ///< K, P, Q
  std::int64_t kernel_h = 1, kernel_w = 1;                  ///< R, S
  std::int64_t stride = 1;
  std::int64_t pad = 0;
  std::int64_t groups = 1;

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

/// Parses "convolution c64 h56 w56 k256 r1 s1 stride1 pad0 groups1" with the words that follow.
/// Nothing for keys of other kinds of layers. Throws ConfigError if the key begins so but a size is
/// missing, out of range, or inconsistent with the others.
std::optional<KeyedConvolution> parse_convolution_key(std::string_view key, int batch);

/// F = 2 N K C/groups R S P Q, including padding, for each of the three passes.
Flops direct_flops(const ConvolutionShape& shape);

/// Input, weights and output once each, in elements of 4 bytes.
Bytes least_bytes(const ConvolutionShape& shape);

}  // namespace dlscale
