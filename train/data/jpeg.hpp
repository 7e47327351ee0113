#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlscale::train {

/// A picture in memory: rows from the top without gaps, four bytes a pixel: red, green, blue and
/// one that is not used (four lanes make the loops over pixels vectorisable).
struct Pixels {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgbx;
  [[nodiscard]] std::size_t row_bytes() const { return std::size_t{4} * width; }
  [[nodiscard]] const std::uint8_t* row(int y) const { return rgbx.data() + row_bytes() * y; }
  [[nodiscard]] std::uint8_t* row(int y) { return rgbx.data() + row_bytes() * y; }
};

/// The data is no JPEG, is damaged or ends too early. The message is libjpeg's, without the file.
struct JpegError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct PictureSize {
  int width = 0;
  int height = 0;
};

/// Decodes JPEG data, baseline and progressive, grey, YCbCr, RGB, CMYK and YCCK. In two steps, so
/// that a caller can choose the scale once it knows the size. What libjpeg only warns about (data
/// that ends early or is damaged, which it fills with grey) is an error here; stray bytes between
/// segments, odd JFIF versions and ICC profiles are not. An EXIF rotation is not applied. One
/// thread at a time.
class JpegReader {
 public:
  JpegReader();
  ~JpegReader();
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  /// Reads the header. `data` must live until decode() is done. Throws JpegError.
  PictureSize open(std::span<const std::uint8_t> data);
  /// Decodes what open() was given at ⌈size · eighths / 8⌉, 1 ≤ eighths ≤ 8, by a smaller inverse
  /// DCT: less work than decoding all and shrinking. Throws JpegError.
  void decode(int eighths, Pixels& pixels);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The library behind these functions, such as "libjpeg-turbo 2.1.5".
std::string jpeg_library();

/// Baseline JPEG with 4:2:0 chroma, 1 ≤ quality ≤ 100. Throws JpegError.
std::vector<std::uint8_t> encode_jpeg(const Pixels& pixels, int quality);

}  // namespace dlscale::train
