#pragma once
#include <cstdint>
#include <string_view>

namespace dlscale::model {

/// On which side of a fit a kernel stands. Fixed by its name alone, without " bias", " relu" and
/// " consumers…" at its end: all batches, passes, precisions, algorithms and surroundings of a
/// shape stand on the same side, in every run and on every machine, so that what is judged was not
/// seen in any form.
enum class Half { training, judging };

/// fold_of(kernel, 2): about half of the kernels each.
Half half_of(std::string_view kernel);

/// Into which of `folds` parts a kernel falls, for cross-validation: FNV-1a of 64 bits [Fowler,
/// Noll & Vo, RFC 9923] of its name, its bits mixed [the finaliser of MurmurHash3], modulo folds.
/// `salt` gives independent partitions.
int fold_of(std::string_view kernel, int folds, std::uint64_t salt = 0);

}  // namespace dlscale::model
