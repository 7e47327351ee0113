#include "jpeg_writer.hpp"

#include <cstdio>
// jpeglib.h needs FILE.
#include <jpeglib.h>

#include <cstdlib>
#include <functional>
#include <span>

namespace dlscale::train {
namespace {

std::vector<std::uint8_t> encode(int width, int height, std::span<const std::uint8_t> pixel,
                                 J_COLOR_SPACE space,
                                 const std::function<void(jpeg_compress_struct&)>& adjust) {
  jpeg_error_mgr errors;
  jpeg_compress_struct info;
  info.err = jpeg_std_error(&errors);
  jpeg_create_compress(&info);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &bytes, &size);
  info.image_width = static_cast<unsigned>(width);
  info.image_height = static_cast<unsigned>(height);
  info.input_components = static_cast<int>(pixel.size());
  info.in_color_space = space;
  jpeg_set_defaults(&info);
  jpeg_set_quality(&info, 100, TRUE);
  adjust(info);
  jpeg_start_compress(&info, TRUE);
  std::vector<std::uint8_t> row;
  for (int x = 0; x < width; ++x) row.insert(row.end(), pixel.begin(), pixel.end());
  JSAMPROW start = row.data();
  for (int y = 0; y < height; ++y) jpeg_write_scanlines(&info, &start, 1);
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::vector<std::uint8_t> result(bytes, bytes + size);
  std::free(bytes);
  return result;
}

}  // namespace

std::vector<std::uint8_t> grey_jpeg(int width, int height, std::uint8_t value) {
  return encode(width, height, {&value, 1}, JCS_GRAYSCALE, [](jpeg_compress_struct&) {});
}

std::vector<std::uint8_t> cmyk_jpeg(int width, int height, std::array<std::uint8_t, 4> stored,
                                    AdobeMarker marker) {
  return encode(width, height, stored, JCS_CMYK, [marker](jpeg_compress_struct& info) {
    if (marker == AdobeMarker::absent) info.write_Adobe_marker = FALSE;
  });
}

std::vector<std::uint8_t> rgb_jpeg(int width, int height, std::array<std::uint8_t, 3> colour,
                                   Scans scans) {
  return encode(width, height, colour, JCS_RGB, [scans](jpeg_compress_struct& info) {
    if (scans == Scans::progressive) jpeg_simple_progression(&info);
  });
}

}  // namespace dlscale::train
