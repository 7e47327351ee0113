#pragma once
#include "core/base/units.hpp"
#include "model/roofline/fit/split.hpp"

namespace dlscale::model {

/// On which side of a fit messages of a size stand, whatever their number of ranks, collective or
/// repeat. Sizes are rounded to octaves, so that a message with an element more or less stands
/// beside its power of two; of each two octaves that follow one another (4 and 8 bytes, 16 and 32,
/// …) a hash says which one trains. So what is judged lies an octave from what was fitted, where
/// both were measured, and the split is the same in every run and on every machine. Requires ≥ 1
/// byte.
Half half_of_size(Bytes bytes);

}  // namespace dlscale::model
