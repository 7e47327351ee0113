#include "bench/memory/host_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "backend/host/core_clock.hpp"
#include "backend/host/host.hpp"
#include "bench/gather.hpp"
#include "bench/memory/host_chase.hpp"
#include "bench/memory/level_series.hpp"
#include "bench/memory/room.hpp"
#include "bench/memory/size_axis.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"
#include "core/slowest_rank.hpp"
#include "core/statistics.hpp"

namespace dlscale::bench {
namespace {

constexpr std::uint64_t seed = 1;

}  // namespace

HostSweep::HostSweep(backend::Communicator& communicator) : communicator_(&communicator) {
  together(communicator, [&] { bound_.emplace(backend::usable_cores().front()); });
}

double HostSweep::visit(std::span<const std::size_t> places, std::size_t in_a_row,
                        backend::PageSize pages) {
  double latency = 0;
  together(*communicator_, [&] {
    HostChase chase(places, in_a_row, pages, seed);
    wrong_ += static_cast<double>(chase.wrong_elements());
    std::vector<double> times;
    times.reserve(runs_of_each);
    for (int run = 0; run < runs_of_each; ++run) times.push_back(chase.run().si());
    latency = median(times);
    clocks_.push_back(backend::core_clock_hertz());
  });
  return latency;
}

Measurement HostSweep::verdict() const {
  const double wrong = sum_of_ranks(*communicator_, wrong_);
  if (wrong > 0) return wrong_chase(wrong);
  Measurement measurement;
  measurement.max_relative_error = 0;
  add_series(measurement, "core_clock", "Hz", clocks_);
  return measurement;
}

void HostSweep::add_series(Measurement& measurement, const char* name, const char* unit,
                           const std::vector<double>& mine) const {
  measurement.series[name] = make_series(unit, gather(*communicator_, mine));
}

std::vector<SizeLatency> HostSweep::slowest(const std::vector<double>& bytes,
                                            const std::vector<double>& mine) const {
  return paired(bytes, slowest_rank(gather(*communicator_, mine)));
}

Measurement unsupported(const Unsupported& error) {
  Measurement measurement;
  measurement.status = Status::unsupported;
  measurement.reason = error.what();
  return measurement;
}

Measurement wrong_chase(double places) {
  Measurement measurement;
  measurement.status = Status::wrong;
  measurement.reason =
      fmt::format("{} places of a pointer chase were not visited exactly once", places);
  return measurement;
}

std::size_t largest_set(backend::Communicator& communicator) {
  constexpr std::size_t where_unknown = std::size_t{256} << 20;
  const std::size_t beyond = beyond_caches(backend::last_level_cache());
  std::size_t largest = std::min(beyond > 0 ? beyond : where_unknown, memory_share(communicator));
  communicator.broadcast(std::as_writable_bytes(std::span(&largest, 1)), 0);
  return largest;
}

}  // namespace dlscale::bench
