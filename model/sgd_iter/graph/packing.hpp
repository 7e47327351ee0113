#pragma once
#include <cstddef>
#include <functional>

#include "core/base/units.hpp"

namespace dlscale::model {

/// How a resource serves that looks for tasks only from time to time, as the background thread of
/// Horovod does (MODEL 2.2). Tasks come in iterations of `messages`. From the first of an iteration
/// until the last is found it looks `cycle` after it looked last, or when it is done with what it
/// found then, if that is later. Then it rests until the first of the next iteration is ready, for
/// which it looks at the first whole number of cycles, 1 or more, after it looked last; or after
/// time 0. Each look takes `meeting`, which keeps nothing busy, and then `vote`, whether anything
/// waits or not. What waits when it begins is served after it in packs, as fuse() of core/network/merge.hpp
/// says, in the order in which it became ready. Packs follow one another; all of a pack starts and
/// finishes with it.
struct Packing {
  Seconds cycle;  ///< ≥ 0
  Bytes threshold;
  Seconds vote;                        ///< ≥ 0
  double cores = 0;                    ///< processor cores that a vote keeps busy
  std::function<Seconds(Bytes)> time;  ///< of a pack, ≥ 0
  std::size_t messages = 1;            ///< of an iteration; all of them are served before the next
  /// Of a pack and of a vote, as Task::kind; no function: all packs are of kind 0.
  std::function<std::size_t(Bytes)> kind = {};
  std::size_t vote_kind = 0;
  Seconds meeting = {};  ///< ≥ 0

  [[nodiscard]] Seconds looking() const { return meeting + vote; }
};

/// When it looks after a rest, for what is ready at `ready` ≥ `last`, the time of its last look.
Seconds look_after_rest(Seconds last, Seconds ready, Seconds cycle);

}  // namespace dlscale::model
