#pragma once
#include <functional>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// Shortest useful sample. A shorter one mostly measures the clock and the staggered start of
/// threads.
inline constexpr Seconds least_sample{1e-3};

/// The number of passes (over an array, or rounds of arithmetic) in a sample of at least
/// `least_sample`: 1, doubled until samples are long enough on all ranks at once. `pass` runs that
/// many passes on its rank and returns the mean time of one. The fastest of a few tries counts, as
/// interruptions only lengthen a sample. Collective: all ranks get the number of the fastest rank.
int passes_for(backend::Communicator& communicator, const std::function<Seconds(int passes)>& pass);

}  // namespace dlscale::bench
