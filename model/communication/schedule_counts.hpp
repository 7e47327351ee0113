#pragma once
#include "core/collective/schedule.hpp"

namespace dlscale::model {

/// What a schedule asks for, counted round by round with the messages that travel in it:
///   messages   Σ of the most that one node sends, or receives
///   on_cores   Σ of the same, times max(1, nodes that send or receive / cores)
///   both_ways  Σ of the most bytes that one node exchanges: of what two nodes send each other,
///   that
///              which is less; over the bytes of the whole message
/// A node of several ports takes the largest instead of the sum over its partners, as in
/// core/collective/schedule.hpp.
struct ScheduleCounts {
  double messages = 0;
  double on_cores = 0;
  double both_ways = 0;
};

/// `cores`: that all nodes share; 0: each node has its own.
ScheduleCounts count(const collective::Schedule& schedule, int cores);

}  // namespace dlscale::model
