#pragma once
#include <cstdint>

#include "train/data/data.hpp"
#include "train/data/jpeg.hpp"
#include "train/data/random.hpp"

namespace dlscale::train {

/// The size of picture `index` of a set. Its sides are 0.6 to 1.5 times those of the spec, which
/// are the means within 1 %.
PictureSize texture_size(const DataSetSpec& spec, std::int64_t index);

/// Draws picture `index` of a set, of class index % classes: stripes in two colours of the class,
/// with its orientation and frequency, and random phase, shade and slow variation. Grey noise of
/// standard deviation `noise` (in steps of 1/255) on every pixel determines the file size.
Pixels draw_texture(const DataSetSpec& spec, std::int64_t index, double noise);

}  // namespace dlscale::train
