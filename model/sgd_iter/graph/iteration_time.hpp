#pragma once
#include "core/base/units.hpp"

namespace dlscale::model {

/// The phases of one iteration. io, h2d, forward, backward, exposed_comm and update are disjoint
/// and add up to total; hidden_comm and load overlap with them, load on several threads. Meetings
/// of ranks before messages are part of exposed_comm and hidden_comm.
struct IterationTime {
  Seconds io;   ///< waiting for input
  Seconds h2d;  ///< the copy; if ahead, the device's wait for it
  Seconds forward;
  Seconds backward;
  Seconds exposed_comm;
  Seconds update;
  Seconds total;
  Seconds hidden_comm;
  /// Thread time of reading and decoding one batch: the sum over the loader threads of a rank, each
  /// busy for load / Run::loader_threads.
  Seconds load;
};

}  // namespace dlscale::model
