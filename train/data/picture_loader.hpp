#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "train/data/augment.hpp"
#include "train/data/data.hpp"
#include "train/data/jpeg.hpp"

namespace dlscale::train {

/// load_picture() with buffers that are reused from picture to picture. Not thread-safe.
class PictureLoader {
 public:
  LoadTimes load(const DataSet::Picture& picture, ImageShape shape, std::uint64_t seed,
                 ImageRoom out);

 private:
  std::vector<std::uint8_t> file_;
  JpegReader reader_;
  Pixels pixels_;
  Augmenter augmenter_;
};

}  // namespace dlscale::train
