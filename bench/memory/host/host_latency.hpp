#pragma once
#include <cstddef>

#include "backend/host/pages.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {

/// A pointer chase through the memory of the host (see host_chase.hpp).
struct HostChaseSpec {
  std::size_t bytes = 0;   ///< of the working set, ≥ stride
  std::size_t stride = 0;  ///< between two places; a multiple of 8
  backend::PageSize pages = backend::PageSize::small;
};

/// Each of these runs on all ranks at once, one thread of each, bound to the first of its cores.
/// The status is `unsupported` where the system has no such pages.

/// Samples of a piece of 4096 accesses each, taken anew where the system interrupted one
/// (chase_pieces.hpp). Series: "time" of an access (their mean), "core_clock" (Hz, measured right
/// after each sample), and "cycles" of an access by that clock.
Measurement measure_host_chase(const HostChaseSpec& spec, const Sampler& sampler);

/// Strides in the smallest working set of measure_host_levels(), where they are more than 4 KiB.
inline constexpr std::size_t fewest_places_of_levels = 16;

/// Chases over working sets of 4 KiB to four times the last-level cache (256 MiB where the system
/// does not tell it; at most an eighth of the memory, shared by the ranks of a node), sixteen sizes
/// to a doubling where a level ends, else four. Series: "working_set" (B) and "latency" (s, the
/// median of nine runs), size by size; "level_…" (level_series.hpp) of the slowest rank;
/// "level_cycles" and "core_clock"; "told_capacity" (B) of the caches as the system describes them,
/// with which the implementation compares.
Measurement measure_host_levels(std::size_t stride, backend::PageSize pages,
                                const Sampler& sampler);

/// The size of a cache line (line_size.hpp), by chases in which every other access is 8, 16, …, 512
/// bytes from the one before. The rest miss the nearest cache. Series: "distance" (B), "latency"
/// (s), "line" (B), and "told_line" (B) if the system tells it.
Measurement measure_line_size(backend::PageSize pages, const Sampler& sampler);

/// How much memory the processor reaches before it has to ask where a page lies: chases that visit
/// one line of each page, against such of as many lines side by side. Series: "working_set" (B, of
/// whole pages), "latency" and "packed_latency" (s); "level_…" of what the pages add to the latency
/// of the smallest working set.
Measurement measure_page_reach(backend::PageSize pages, const Sampler& sampler);

}  // namespace dlscale::bench
