#pragma once
#include <span>
#include <vector>

#include "core/network/network.hpp"
#include "train/data/images.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/random.hpp"

namespace dlscale::train {

/// A rectangle of a picture, in pixels of that picture.
struct Crop {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
};

/// How a picture is cropped and mirrored before the network sees it.
struct Augmentation {
  Crop crop;
  bool mirrored = false;
};

/// A random resized crop as torchvision's RandomResizedCrop draws it. Its area is 8 % to 100 % of
/// the picture; its ratio of width to height lies between 3/4 and 4/3, uniform in the logarithm. It
/// covers whole pixels at a uniformly random position. After ten misses it is the largest central
/// crop with a ratio in that range. It is mirrored with probability 1/2.
Augmentation draw_augmentation(PictureSize picture, RandomStream& random);

/// The least n of 1, 2, 4, 8 for which the crop, decoded at n/8 of its size, has the pixels that
/// the network needs; 8 if the crop is smaller. libjpeg-turbo has vector code for these scales.
int decode_eighths(const Crop& crop, ImageShape shape);

/// Crops, resizes and mirrors. Resizing is bilinear. Where it shrinks, it weighs all pixels that an
/// output pixel covers with a triangle, as Pillow and torchvision do. The output format follows
/// from `out`:
///   floats: C × H × W of (value / 255 - mean) / standard deviation with ImageNet's statistics;
///   bytes: H × W × C of the values, rounded to the nearest, halves up, as Pillow's are. Once a
///     device has normalised them they differ from the floats by that rounding: by at most
///     0.5 / 255 / deviation, below 0.009. The floats are not rounded likewise, which would cost
///     host time and precision.
class Augmenter {
 public:
  /// `augmentation` is in pixels of `pixels`. `shape` has 3 channels; `out` has its size.
  void run(const Pixels& pixels, const Augmentation& augmentation, ImageShape shape, ImageRoom out);

 private:
  /// Output i is the sum over t < count of weights[i · count + t] · input[first[i] + t].
  struct Filter {
    int count = 0;
    std::vector<int> first;
    std::vector<float> weights;
    void set(double start, double length, int in, int out);
  };

  void blend_rows(const Pixels& pixels, int y, int first_column, int columns);
  void blend_columns(int first_column);

  Filter across_;
  Filter down_;
  std::vector<float> wide_row_;    ///< one output row at the picture's width
  std::vector<float> narrow_row_;  ///< one output row at the output's width, four floats a pixel
};

}  // namespace dlscale::train
