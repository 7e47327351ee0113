#include "bench/memory/host/host_sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "backend/comm/together.hpp"
#include "backend/host/core_clock.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/memory/host/cache_levels.hpp"
#include "bench/memory/host/reported_caches.hpp"
#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

constexpr std::size_t fewest_pieces = 9;
// Usual time for a working set; a large one takes long, and much longer on a busy machine.
constexpr std::chrono::milliseconds usual_time{250};
constexpr std::chrono::milliseconds longest_time{2000};

}  // namespace

HostSweep::HostSweep(backend::Communicator& communicator) : communicator_(&communicator) {
  together(communicator, [&] { bound_.emplace(backend::usable_cores().front()); });
}

std::vector<double> HostSweep::undisturbed(HostChase& chase) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  std::vector<double> all;
  std::vector<double> own;
  const auto enough = [&] {
    const auto elapsed = Clock::now() - start;
    return all.size() == most_pieces || (elapsed > usual_time && own.size() >= fewest_pieces) ||
           elapsed > longest_time;
  };
  while (all.size() < fewest_pieces || !enough()) {
    const ChasePiece piece = pieces_.time(chase);
    all.push_back(piece.access.si());
    if (!piece.interrupted) own.push_back(all.back());
  }
  return own.empty() ? all : own;
}

double HostSweep::visit(std::span<const std::size_t> places, std::size_t in_a_row,
                        backend::PageSize pages) {
  double latency = 0;
  together(*communicator_, [&] {
    HostChase chase(places, in_a_row, pages, chase_seed);
    wrong_ += static_cast<double>(chase.wrong_elements());
    latency = median(undisturbed(chase));
    clocks_.push_back(backend::core_clock_hertz());
  });
  return latency;
}

Measurement HostSweep::verdict(std::string_view chases, std::string_view of_each) const {
  const double wrong = sum_of_ranks(*communicator_, wrong_);
  Measurement measurement;
  if (wrong > 0) {
    measurement = wrong_chase(wrong);
  } else {
    measurement.max_relative_error = 0;
    add_series(measurement, "core_clock", "Hz", clocks_);
    measurement.warnings = pieces_.warnings(*communicator_);
  }
  measurement.implementation =
      fmt::format("{}, {} pieces of {} accesses at most of each {}, {}", chases, most_pieces,
                  ChasePieces::accesses, of_each, pieces_.count_text(*communicator_));
  return measurement;
}

void HostSweep::add_series(Measurement& measurement, const char* name, const char* unit,
                           const std::vector<double>& mine) const {
  measurement.series[name] = make_series(unit, gather_on_ranks(*communicator_, mine));
}

std::vector<SizeLatency> HostSweep::slowest(const std::vector<double>& bytes,
                                            const std::vector<double>& mine) const {
  return paired(bytes, slowest_rank(gather_on_ranks(*communicator_, mine)));
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
  const std::size_t beyond = chased_beyond_caches(backend::last_level_cache());
  std::size_t largest = std::min(beyond > 0 ? beyond : where_unknown, memory_share(communicator));
  communicator.broadcast(std::as_writable_bytes(std::span(&largest, 1)), 0);
  return largest;
}

}  // namespace dlscale::bench
