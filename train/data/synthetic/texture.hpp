#pragma once
#include <cstdint>

#include "train/data/data.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/random_stream.hpp"

namespace dlscale::train {

/// The size of picture `index` of a set: its sides between 0.6 and 1.5 of the spec's, which are
/// their means within 1 %.
PictureSize texture_size(const DataSetSpec& spec, std::int64_t index);

/// Picture `index` of a set, of class index % classes: two colours of the class in stripes of its
/// orientation and frequency, with random phase, shade and slow variation, and grey noise of
/// standard deviation `noise` (in steps of 1/255) on every pixel, which sets the size of the file.
Pixels draw_texture(const DataSetSpec& spec, std::int64_t index, double noise);

}  // namespace dlscale::train
