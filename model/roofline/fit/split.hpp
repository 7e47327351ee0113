#pragma once
#include <cstdint>
#include <string_view>

#include "core/base/units.hpp"

namespace dlscale::model {

/// The half of the kernels that a kernel belongs to. Its name alone decides, without " bias", "
/// relu" and " consumers…" at its end. All batches, passes, precisions, algorithms and conditions
/// of a shape belong to the same half, in every run and on every machine. A fit has therefore not
/// seen a judged shape in any form.
enum class Half { training, judging };

/// fold_of(kernel, 2): about half of the kernels each.
Half half_of(std::string_view kernel);

/// The fold, 0 to `folds` - 1, of a kernel in cross-validation: FNV-1a of 64 bits [Fowler, Noll &
/// Vo, RFC 9923] of its name, its bits mixed [the finaliser of MurmurHash3], modulo folds. Each
/// `salt` gives an independent partition.
int fold_of(std::string_view kernel, int folds, std::uint64_t salt = 0);

/// The half, fitted or judged, of messages of a size, whatever their number of ranks, collective or
/// repeat. Sizes are rounded to octaves, so that a message with an element more or less stays with
/// its power of two. A hash chooses which of two successive octaves (4 and 8 bytes, 16 and 32, …)
/// trains. So judged sizes lie an octave from fitted ones, where both were measured, and the split
/// is the same in every run and on every machine. Requires ≥ 1 byte.
Half half_of_size(Bytes bytes);

}  // namespace dlscale::model
