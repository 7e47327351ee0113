#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlscale::train {

/// A picture in memory: rows from the top without gaps, four bytes per pixel: red, green, blue and
/// an unused one. Four lanes make the loops over pixels vectorisable.
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgbx;
  [[nodiscard]] std::size_t row_bytes() const { return std::size_t{4} * width; }
  [[nodiscard]] const std::uint8_t* row(int y) const { return rgbx.data() + row_bytes() * y; }
  [[nodiscard]] std::uint8_t* row(int y) { return rgbx.data() + row_bytes() * y; }
};

/// The data is not a JPEG, is damaged or ends too early. The message is libjpeg's, without the
/// file.
struct JpegError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PictureSize {
  int width = 0;
  int height = 0;
};

/// Decodes JPEG data: baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK. It takes two
/// steps, so that a caller can choose the scale once it knows the size. Data that is truncated or
/// damaged is an error here; libjpeg only warns and fills it with grey. Stray bytes between
/// segments, odd JFIF versions and ICC profiles are accepted. An EXIF rotation is not applied. Not
/// thread-safe.
class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Reads the header. `data` must live until decode() is done. Throws JpegError.
  PictureSize open(std::span<const std::uint8_t> data);
  /// Decodes the data given to open() at ⌈size · eighths / 8⌉, 1 ≤ eighths ≤ 8. A smaller inverse
  /// DCT takes less work than decoding everything and shrinking. Throws JpegError.
  void decode(int eighths, Pixels& pixels);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Name and version of the JPEG library, for example "libjpeg-turbo 2.1.5".
std::string jpeg_library();

/// Encodes as baseline JPEG with 4:2:0 chroma, 1 ≤ quality ≤ 100. Throws JpegError.
std::vector<std::uint8_t> encode_jpeg(const Pixels& pixels, int quality);

}  // namespace dlscale::train
