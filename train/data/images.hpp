#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>

#include "backend/compute/compute.hpp"
#include "core/run/run.hpp"

namespace dlscale::train {

/// A batch on its way from the loader to the device: N × C × H × W normalised f32, or, for a device
/// that normalises, N × H × W × 3 bytes of red, green and blue.
using Images = std::variant<std::span<const float>, std::span<const std::uint8_t>>;
/// Memory for one image or for a batch of them.
using ImageRoom = std::variant<std::span<float>, std::span<std::uint8_t>>;

/// Mean and standard deviation of ImageNet's pictures, as torchvision, Caffe2 and MLPerf use them.
inline constexpr backend::PictureStatistics imagenet_statistics{{0.485F, 0.456F, 0.406F},
                                                                {0.229F, 0.224F, 0.225F}};

/// Number of elements in all images: one per channel and pixel, whether float or byte.
inline std::size_t elements_of(const Images& images) {
  return std::visit([](const auto& all) { return all.size(); }, images);
}

inline std::span<const std::byte> bytes_of(const Images& images) {
  return std::visit([](const auto& all) { return std::as_bytes(all); }, images);
}

/// Bytes of `elements` in a batch: one each if the device normalises, else a float.
constexpr std::size_t image_bytes(std::size_t elements, Normalisation normalisation) {
  return elements * (normalisation == Normalisation::device ? 1 : sizeof(float));
}

/// Throws ConfigError if a device that computes in host memory is to normalise pictures.
void check_normalisation(const backend::ComputeDevice& device, Normalisation normalisation);

}  // namespace dlscale::train
