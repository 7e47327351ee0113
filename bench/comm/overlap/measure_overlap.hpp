#pragma once
#include <functional>
#include <memory>

#include "bench/comm/overlap/overlap_work.hpp"
#include "bench/comm/traffic/measure.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// Work that ranks do while their messages are in flight.
struct OverlapSetup {
  /// Called once per cell by each rank. May throw.
  std::function<std::unique_ptr<OverlapWork>()> make_work;
  double ratio = 1;  ///< its time alone as a multiple of the messages' time
  int threads = 1;   ///< number of busy threads
};

/// Measures messages and work alone, and both at once: the work on the calling thread, the messages
/// on a thread of their own, as in training. Each sample measures all three. Their order changes
/// from sample to sample, so that changes of the machine affect all of them.
///
/// "time", in seconds, is the time of the messages during the work, M_o, of all ranks. Other series
/// of all ranks: "compute_alone" T_c, "messages_alone" T_m, "together" T_o, "compute_beside" C_o.
/// Series with one list, derived from the slowest rank: "overlap_efficiency" E, "compute_slowdown"
/// and "messages_slowdown" (unit 1), "exposed" and "hidden", as in Overlap, and "compute_runs"
/// (unit 1), the runs of the work in a sample.
///
/// The results of both are checked after a concurrent run before the first sample; those of the
/// work also after the last. Wrong results and unsupported cells give rows as in measure_traffic().
/// Collective.
Measurement measure_overlap(const Message& message, const MessageConditions& conditions,
                            const OverlapSetup& beside, const Sampler& sampler);

}  // namespace dlscale::bench
