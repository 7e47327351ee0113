#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "backend/host/host.hpp"
#include "backend/host/pages.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::bench {

/// Pointer chases through many working sets, one thread per rank, bound to its first core during
/// the object's lifetime. Every member function is collective.
class HostSweep {
 public:
  static constexpr int most_pieces = 72;  ///< per working set

  explicit HostSweep(backend::Communicator& communicator);

  /// Median latency in seconds of this rank's pieces; only of uninterrupted ones, if there are any.
  /// If it throws on one rank, it throws on all: Unsupported or ConfigError if such memory is not
  /// available. `in_a_row` is `together` of HostChase.
  double visit(std::span<const std::size_t> places, std::size_t in_a_row, backend::PageSize pages);

  /// A measurement without latencies: whether all chases of all ranks were right, and the
  /// "core_clock" (Hz) after each. The implementation names the `chases`, the number of pieces of
  /// each `of_each` (for example "size"), and how many were interrupted. A warning reports
  /// interruptions without numbers, so that a report of many sweeps shows it once.
  [[nodiscard]] Measurement verdict(std::string_view chases, std::string_view of_each) const;

  /// Adds the values of all ranks as a series.
  void add_series(Measurement& measurement, const char* name, const char* unit,
                  const std::vector<double>& mine) const;
  /// Latencies of the slowest rank for each size.
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

/// A row whose chases were wrong at `places` places.
Measurement wrong_chase(double places);

/// Largest working set of a sweep: four times the last-level cache (256 MiB if it is unknown), at
/// most `most_chased` and memory_share(). It is rank 0's, as all ranks make the same sweep. Collective.
std::size_t largest_set(backend::Communicator& communicator);

}  // namespace dlscale::bench
