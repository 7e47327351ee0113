#pragma once
#include <cstddef>
#include <functional>

#include "core/base/units.hpp"

namespace dlscale::model {

/// A resource that looks for tasks only from time to time, as the background thread of Horovod does
/// (MODEL 2.2). An iteration has `messages` tasks. From its first task until its last is found, a
/// look follows `cycle` after the one before. If service of those findings ends later, the look
/// follows that. Then the resource rests until the first task of the next iteration is ready. It
/// then looks at a whole number of cycles, 1 or more, after its last look, or after time 0. Each
/// look takes `barrier`, which keeps nothing busy, and then `vote`, even if nothing waits. Tasks
/// that wait at its beginning are served after it in packs by fuse() of core/network/merge.hpp, in
/// order of readiness. Packs follow one another; all tasks of a pack start and finish with it.
struct Packing {
  Seconds cycle;  ///< ≥ 0
  Bytes threshold;
  Seconds vote;                        ///< ≥ 0
  double cores = 0;                    ///< processor cores used by a vote
  std::function<Seconds(Bytes)> time;  ///< time of a pack, ≥ 0
  std::size_t messages = 1;            ///< messages of an iteration; all are served before the next
  /// Kind (Task::kind) of a pack and of a vote; no function: all packs are of kind 0.
  std::function<std::size_t(Bytes)> kind = {};
  std::size_t vote_kind = 0;
  Seconds barrier = {};  ///< ≥ 0

  [[nodiscard]] Seconds looking() const { return barrier + vote; }
};

/// The first look after a rest, for a task ready at `ready` ≥ `last`, the time of the last look.
Seconds look_after_rest(Seconds last, Seconds ready, Seconds cycle);

}  // namespace dlscale::model
