#pragma once
#include "core/base/units.hpp"
#include "model/roofline/fit/split.hpp"

namespace dlscale::model {

/// The half, fitted or judged, of messages of a size, whatever their number of ranks, collective or
/// repeat. Sizes are rounded to octaves, so that a message with an element more or less stays with
/// its power of two. A hash chooses which of two successive octaves (4 and 8 bytes, 16 and 32, …)
/// trains. So judged sizes lie an octave from fitted ones, where both were measured, and the split
/// is the same in every run and on every machine. Requires ≥ 1 byte.
Half half_of_size(Bytes bytes);

}  // namespace dlscale::model
