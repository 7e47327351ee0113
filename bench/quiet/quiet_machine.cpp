#include "bench/quiet/quiet_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backend/comm/together.hpp"
#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"

namespace dlscale::bench {
namespace {

void add(Measurement& measurement, const std::vector<std::string>& doubts) {
  if (measurement.series.empty()) return;
  measurement.warnings.insert(measurement.warnings.end(), doubts.begin(), doubts.end());
}

}  // namespace

QuietMachine::QuietMachine(backend::Communicator& communicator, Seconds patience,
                           std::function<Seconds()> witness)
    : communicator_(&communicator), patience_(patience), looks_(communicator, std::move(witness)) {
  looks_.look();
}

bool QuietMachine::all_patient() {
  char go_on = waited_ < patience_ ? 1 : 0;
  communicator_->broadcast(std::as_writable_bytes(std::span(&go_on, 1)), 0);
  return go_on != 0;
}

void QuietMachine::wait() {
  constexpr std::chrono::milliseconds pause{200};
  const auto is_quiet = [this] {
    looks_.forget();
    looks_.look();
    return looks_.is_quiet(0);
  };
  while (!is_quiet() && !agree(*communicator_, nullptr).stops() && all_patient()) {
    waited_ += timed([&] { std::this_thread::sleep_for(pause); });
  }
  since_ = std::chrono::steady_clock::now();
}

bool QuietMachine::disturbed() {
  looks_.look();
  const bool slower = looks_.slowest() > 1 + SpeedSamples::tolerance;
  // Measured code may itself slow the processor down, as wide vectors do, and does so each time.
  // Patience limits this, too.
  const std::chrono::duration<double> measuring = std::chrono::steady_clock::now() - since_;
  if (slower) waited_ += Seconds(measuring.count());
  return all_patient() && slower;
}

void QuietMachine::tell(Measurement& measurement) const {
  measurement.series["witness"] = make_series("s", looks_.times());
  const double slowest = looks_.slowest();
  if (slowest <= 1 + SpeedSamples::tolerance) return;
  warn_of_speed(measurement,
                fmt::format("fixed work took {:.0f} % longer before or after it than at "
                            "the machine's best",
                            100 * (slowest - 1)));
}

void add_host_warnings(Measurement& measurement, int threads,
                       const backend::Communicator& communicator) {
  add(measurement, backend::host_warnings(threads, communicator.node_size()));
}

void add_compute_warnings(Measurement& measurement, int threads,
                          const backend::Communicator& communicator) {
  add_host_warnings(measurement, threads, communicator);
  add(measurement, backend::memory_node_warnings(threads, backend::usable_memory_nodes()));
}

}  // namespace dlscale::bench
