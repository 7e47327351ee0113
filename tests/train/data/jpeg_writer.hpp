#pragma once
#include <array>
#include <cstdint>
#include <vector>

namespace dlscale::train {

/// JPEG files that dlscale itself never writes, each of one colour.
std::vector<std::uint8_t> grey_jpeg(int width, int height, std::uint8_t value);
enum class AdobeMarker { present, absent };
std::vector<std::uint8_t> cmyk_jpeg(int width, int height, std::array<std::uint8_t, 4> stored,
                                    AdobeMarker marker);
enum class Scans { baseline, progressive };
std::vector<std::uint8_t> rgb_jpeg(int width, int height, std::array<std::uint8_t, 3> colour,
                                   Scans scans);

}  // namespace dlscale::train
