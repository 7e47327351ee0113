#pragma once
#include "core/collective/schedule.hpp"

namespace dlscale::model {

/// Counts of a schedule, by round, from the messages in it:
///   messages   Σ of the most messages that one node sends or receives
///   on_cores   Σ of the same, times max(1, nodes that send or receive / cores)
///   both_ways  Σ of the most bytes that one node exchanges, over the bytes of the whole message;
///              two nodes exchange the lesser of what each sends the other
/// A node of several ports takes the largest instead of the sum over its partners, as in
/// core/collective/schedule.hpp.
struct ScheduleCounts {
  double messages = 0;
  double on_cores = 0;
  double both_ways = 0;
};

/// `cores`: cores that all nodes share; 0: each node has its own.
ScheduleCounts count(const collective::Schedule& schedule, int cores);

}  // namespace dlscale::model
