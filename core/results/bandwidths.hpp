#pragma once
#include <optional>
#include <string_view>

#include "core/base/units.hpp"
#include "core/results/measurement.hpp"

namespace dlscale {

/// Bandwidths of communication, as nccl-tests defines them.
struct Bandwidths {
  /// Message size divided by time. The size is that of one rank's vector, or for collectives of
  /// blocks (all_gather, reduce_scatter, all_to_all) that of all blocks together.
  BytesPerSecond algbw;
  /// algbw times bus_factor(): the load of each link if the library uses a ring. Other algorithms
  /// move other amounts.
  std::optional<BytesPerSecond> busbw;
  /// Bytes that the busiest rank sends, divided by time, for the algorithm that ran; only if known.
  std::optional<BytesPerSecond> wirebw;
};

/// Factor for a collective or message on `ranks` ranks; nothing if no message moves.
///   all_reduce                                 2 (n-1)/n
///   all_gather, reduce_scatter, all_to_all     (n-1)/n
///   broadcast, reduce, messages of two ranks   1
/// [nccl-tests doc/PERFORMANCE.md, and the GetBw functions of its src/*.cu]
std::optional<double> bus_factor(std::string_view collective, int ranks);

/// Bandwidths of a row of bench comm that took `time` > 0; nothing for other rows and for a
/// barrier.
std::optional<Bandwidths> bandwidths(const Measurement& measurement, Seconds time);

}  // namespace dlscale
