#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/host/bound_thread.hpp"
#include "backend/host/pages.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "bench/memory/host/chase_pieces.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Pointer chases through many working sets, one thread of each rank at once, which stays on the
/// first of its cores as long as this lives. Every member function is collective.
class HostSweep {
 public:
  static constexpr int most_pieces = 72;  ///< of each working set

  explicit HostSweep(backend::Communicator& communicator);

  /// The median latency of the pieces, in seconds, of this rank; of those that nothing interrupted,
  /// if there are any. Throws on all ranks if it throws on one: Unsupported or ConfigError where
  /// there is no such memory. `in_a_row`: as `together` of HostChase.
  double visit(std::span<const std::size_t> places, std::size_t in_a_row, backend::PageSize pages);

  /// A measurement without latencies: whether all chases of all ranks were right, the "core_clock"
  /// (Hz) after each, as implementation the `chases` (what they were), their pieces (of each size,
  /// say) and how many of them the system interrupted, and a warning if it did. The warning has no
  /// numbers, so that a report of many sweeps says it once.
  [[nodiscard]] Measurement verdict(std::string_view chases, std::string_view of_each) const;

  /// Adds the values of all ranks as a series.
  void add_series(Measurement& measurement, const char* name, const char* unit,
                  const std::vector<double>& mine) const;
  /// The slowest rank's of each size.
  [[nodiscard]] std::vector<SizeLatency> slowest(const std::vector<double>& bytes,
                                                 const std::vector<double>& mine) const;
  [[nodiscard]] backend::Communicator& communicator() const { return *communicator_; }

 private:
  std::vector<double> undisturbed(HostChase& chase);

  backend::Communicator* communicator_;
  std::optional<backend::BoundThread> bound_;
  double wrong_ = 0;
  ChasePieces pieces_;
  std::vector<double> clocks_;
};

/// A row whose chases are wrong at so many places.
Measurement wrong_chase(double places);

/// Of a sweep: four times the last-level cache (256 MiB where the system does not tell it), at most
/// memory_share() (room.hpp); rank 0's, since all ranks make the same sweep. Collective.
std::size_t largest_set(backend::Communicator& communicator);

}  // namespace dlscale::bench
