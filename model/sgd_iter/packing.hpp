#pragma once
#include <functional>

#include "core/units.hpp"

namespace dlscale::model {

/// How a resource serves that looks for tasks only from time to time, as the background thread of
/// Horovod does (MODEL 2.2): `cycle` after it looked last, or when it is done with what it found
/// then, if that is later; first at time 0. Each look takes `vote`, whether anything waits or not.
/// What waits when it begins is served after it in packs, as fuse() of core/merge.hpp says, in the
/// order in which it became ready. Packs follow one another; all of a pack starts and finishes with
/// it.
struct Packing {
  Seconds cycle;  ///< ≥ 0
  Bytes threshold;
  Seconds vote;                        ///< ≥ 0
  double cores = 0;                    ///< processor cores that a vote keeps busy
  std::function<Seconds(Bytes)> time;  ///< of a pack, ≥ 0
};

}  // namespace dlscale::model
