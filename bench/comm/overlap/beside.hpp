#pragma once
#include <functional>
#include <memory>

#include "bench/comm/overlap/beside_work.hpp"
#include "bench/comm/traffic/measure.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// What the ranks do beside their messages.
struct Beside {
  /// Called once a cell, by each rank. May throw.
  std::function<std::unique_ptr<BesideWork>()> make_work;
  double ratio = 1;  ///< how many times as long as the messages it is to take, alone
  int threads = 1;   ///< that it keeps busy
};

/// Measures messages and work alone, and both at once: the work on the calling thread, the messages
/// on one of their own, as in training. In each sample all three, in turns that change from sample
/// to sample, so that whatever changes on the machine changes for all of them.
///
/// The series, s unless said, of all ranks ("time": of the messages beside the work, M_o) or, as
/// they follow from the longest of the ranks, with one list:
///   compute_alone T_c, messages_alone T_m, together T_o, compute_beside C_o   of all ranks
///   overlap_efficiency E, compute_slowdown, messages_slowdown (unit 1), exposed, hidden
/// as Overlap has them; and "compute_runs" (unit 1), how many runs of the work a sample has.
///
/// What both leave is checked after they ran at once, before the first sample, and that of the work
/// after the last one, too. Wrong results and what is not offered are rows as of measure_traffic().
/// Collective.
Measurement measure_beside(const Message& message, const MessageConditions& conditions,
                           const Beside& beside, const Sampler& sampler);

}  // namespace dlscale::bench
