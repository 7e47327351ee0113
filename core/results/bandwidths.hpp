#pragma once
#include <optional>
#include <string_view>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale {

/// Bandwidths of what ranks send each other, as nccl-tests defines them.
struct Bandwidths {
  /// Size of the message over time. The size is that of one rank's vector, or for collectives of
  /// blocks (all_gather, reduce_scatter, all_to_all) that of all blocks together.
  BytesPerSecond algbw;
  /// algbw times bus_factor(): what each link carries if the library uses a ring. Other algorithms
  /// move other amounts.
  std::optional<BytesPerSecond> busbw;
  /// What the busiest rank sends over time, by the algorithm that ran: only where it is known.
  std::optional<BytesPerSecond> wirebw;
};

/// Of a collective or message on `ranks` ranks; nothing for what moves no message.
///   all_reduce                                 2 (n-1)/n
///   all_gather, reduce_scatter, all_to_all     (n-1)/n
///   broadcast, reduce, messages of two ranks   1
/// [nccl-tests doc/PERFORMANCE.md, and the GetBw functions of its src/*.cu]
std::optional<double> bus_factor(std::string_view collective, int ranks);

/// Of a row of bench comm that took `time` > 0; nothing of others and of a barrier.
std::optional<Bandwidths> bandwidths(const Measurement& measurement, Seconds time);

}  // namespace dlscale
