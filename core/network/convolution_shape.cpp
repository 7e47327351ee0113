#include "core/network/convolution_shape.hpp"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <string>

#include "core/base/error.hpp"

namespace dlscale {
namespace {

constexpr std::int64_t largest_convolution_size = 1 << 20;

[[noreturn]] void refuse(std::string_view key, std::string_view problem) {
  throw ConfigError(fmt::format(
      "the kernel \"{}\" {}, so that its work is unknown. Measure it again with this version.", key,
      problem));
}

/// Sizes by name: the letters and the digits of each word. Words without digits have the value 1.
std::map<std::string, std::int64_t, std::less<>> parse_words(std::string_view text,
                                                             std::string_view key) {
  std::map<std::string, std::int64_t, std::less<>> sizes;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    const std::size_t letters = std::min(word.find_first_of("0123456789"), word.size());
    std::int64_t size = 1;
    if (const std::string_view digits = word.substr(letters); !digits.empty()) {
      const auto [end, error] = std::from_chars(digits.begin(), digits.end(), size);
      if (error != std::errc() || end != digits.end())
        refuse(key, "has a size that is not an integer");
    }
    sizes[std::string(word.substr(0, letters))] = size;
  }
  return sizes;
}

struct Direction {
  std::int64_t in;
  std::int64_t kernel;
  std::int64_t stride;
  std::int64_t pad;
  std::int64_t dilation;
};

std::int64_t outputs_along(const Direction& along) {
  const std::int64_t reach = along.dilation * (along.kernel - 1) + 1;
  const std::int64_t room = along.in + 2 * along.pad - reach;
  return room < 0 ? 0 : room / along.stride + 1;
}

}  // namespace

double ConvolutionShape::input_elements() const {
  return static_cast<double>(images * channels) * static_cast<double>(height * width);
}

double ConvolutionShape::weight_elements() const {
  return static_cast<double>(outputs) * static_cast<double>(taps());
}

double ConvolutionShape::output_elements() const {
  return static_cast<double>(images * outputs) * static_cast<double>(out_height * out_width);
}

std::optional<KeyedConvolution> parse_convolution_key(std::string_view key, int batch) {
  constexpr std::string_view kind = "convolution ";
  if (!key.starts_with(kind)) return std::nullopt;
  const auto sizes = parse_words(key.substr(kind.size()), key);
  const auto size = [&](std::string_view name, std::int64_t least) {
    const auto found = sizes.find(name);
    if (found == sizes.end()) refuse(key, fmt::format("has no size {}", name));
    if (found->second < least || found->second > largest_convolution_size) {
      refuse(key, fmt::format("has {} = {}", name, found->second));
    }
    return found->second;
  };
  ConvolutionShape shape{.images = batch,
                         .channels = size("c", 1),
                         .height = size("h", 1),
                         .width = size("w", 1),
                         .outputs = size("k", 1),
                         .kernel_h = size("r", 1),
                         .kernel_w = size("s", 1),
                         .stride = size("stride", 1),
                         .pad = size("pad", 0),
                         .groups = size("groups", 1)};
  if (sizes.contains("stridew")) {
    shape.stride_w = size("stridew", 1);
    shape.pad_w = size("padw", 0);
    shape.dilation = size("dilation", 1);
  }
  shape.out_height =
      outputs_along({shape.height, shape.kernel_h, shape.stride, shape.pad, shape.dilation});
  shape.out_width = outputs_along({shape.width, shape.kernel_w, shape.stride_along_width(),
                                   shape.pad_along_width(), shape.dilation});
  if (shape.out_height < 1 || shape.out_width < 1) refuse(key, "has a filter beyond its image");
  if (shape.channels % shape.groups != 0 || shape.outputs % shape.groups != 0) {
    refuse(key, "has channels that are no multiple of its groups");
  }
  return KeyedConvolution{shape, sizes.contains("bias"), sizes.contains("relu")};
}

Flops direct_flops(const ConvolutionShape& shape) {
  return Flops(2 * shape.output_elements() * static_cast<double>(shape.taps()));
}

Bytes least_bytes(const ConvolutionShape& shape) {
  return Bytes(sizeof(float) *
               (shape.input_elements() + shape.weight_elements() + shape.output_elements()));
}

}  // namespace dlscale
