#include "bench/quiet_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <utility>

#include "bench/timed.hpp"
#include "bench/together.hpp"

namespace dlscale::bench {

QuietMachine::QuietMachine(backend::Communicator& communicator, Seconds patience,
                           std::function<Seconds()> witness)
    : communicator_(&communicator),
      patience_(patience),
      witness_(std::move(witness)),
      times_(static_cast<std::size_t>(communicator.size())) {
  look();
}

double QuietMachine::look() {
  const double mine = witness_().si();
  std::vector<double> all(times_.size());
  communicator_->all_gather(std::as_bytes(std::span(&mine, 1)),
                            std::as_writable_bytes(std::span(all)));
  if (least_.empty()) least_ = all;
  double slowdown = 1;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    least_[rank] = std::min(least_[rank], all[rank]);
    slowdown = std::max(slowdown, all[rank] / least_[rank]);
    times_[rank].push_back(all[rank]);
  }
  return slowdown;
}

void QuietMachine::wait() {
  constexpr std::chrono::milliseconds pause{200};
  const auto anew = [this] {
    for (std::vector<double>& times : times_) times.clear();
    return slowdown_ = look();
  };
  // The clock of rank 0 decides for all.
  while (anew() > 1 + tolerance && !agree(*communicator_, nullptr).stops()) {
    char go_on = patient() ? 1 : 0;
    communicator_->broadcast(std::as_writable_bytes(std::span(&go_on, 1)), 0);
    if (go_on == 0) break;
    waited_ += timed([&] { std::this_thread::sleep_for(pause); });
  }
  since_ = std::chrono::steady_clock::now();
}

bool QuietMachine::disturbed() {
  slowdown_ = std::max(slowdown_, look());
  const bool slower = slowdown_ > 1 + tolerance;
  // What slows the processor down itself, as wide vectors may, is slow each time: this ends, too.
  const std::chrono::duration<double> measuring = std::chrono::steady_clock::now() - since_;
  if (slower) waited_ += Seconds(measuring.count());
  char again = slower && patient() ? 1 : 0;
  communicator_->broadcast(std::as_writable_bytes(std::span(&again, 1)), 0);
  return again != 0;
}

void QuietMachine::tell(Measurement& measurement) const {
  measurement.series["witness"] = make_series("s", times_);
  if (slowdown_ <= 1 + tolerance) return;
  const std::string what =
      fmt::format("fixed work took {:.0f} % longer before or after it than at the machine's best",
                  100 * (slowdown_ - 1));
  measurement.warnings.push_back(what +
                                 ". Stop other programs, or allow more time with --wait-quiet.");
  if (measurement.status == Status::ok) measurement.reason = what;
  if (measurement.status == Status::unstable) measurement.reason += "; " + what;
  if (measurement.status == Status::ok) measurement.status = Status::unstable;
}

}  // namespace dlscale::bench
