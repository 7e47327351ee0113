#pragma once
#include <functional>

#include "backend/comm/communicator.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// A sample of so little is mostly the clock, and threads that begin one after the other.
inline constexpr Seconds least_sample{1e-3};

/// How many passes (over an array, or as many rounds of arithmetic) make a sample that lasts at
/// least `least_sample`: 1, doubled until they do, on all ranks, at once. `pass`: runs so many
/// passes and returns the mean time of one, the fastest of a few tries being meant, since an
/// interruption only makes a sample longer; local to a rank. Collective: all ranks get the same
/// number, that of the fastest of them.
int passes_for(backend::Communicator& communicator, const std::function<Seconds(int passes)>& pass);

}  // namespace dlscale::bench
