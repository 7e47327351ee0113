#include "bench/e2e/quiet_iterations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

namespace dlscale::bench {

QuietIterations::QuietIterations(backend::Communicator& communicator, Seconds patience,
                                 std::function<Seconds()> witness)
    : communicator_(&communicator), patience_(patience), looks_(communicator, std::move(witness)) {}

void QuietIterations::look() {
  looks_.look();
  ends_.push_back(std::chrono::steady_clock::now());
}

std::vector<bool> QuietIterations::counted() const {
  std::vector<bool> counted;
  for (std::size_t look = 1; look < looks_.count(); ++look) {
    counted.push_back(looks_.is_quiet(look - 1) && looks_.is_quiet(look));
  }
  return counted;
}

bool QuietIterations::are_enough(std::size_t wanted) {
  const std::vector<bool> all = counted();
  std::chrono::duration<double> vain{0};
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) vain += ends_[i + 1] - ends_[i];
  }
  const auto quiet = static_cast<std::size_t>(std::ranges::count(all, true));
  char enough = quiet >= wanted || Seconds(vain.count()) > patience_ ? 1 : 0;
  // Rank 0's clock decides.
  communicator_->broadcast(std::as_writable_bytes(std::span(&enough, 1)), 0);
  return enough != 0;
}

void QuietIterations::tell(Measurement& measurement, std::size_t wanted) const {
  measurement.series["witness"] = make_series("s", looks_.times());
  const std::vector<bool> all = counted();
  const auto quiet = static_cast<std::size_t>(std::ranges::count(all, true));
  if (quiet >= wanted) return;
  doubt_speed(measurement, fmt::format("fixed work was as fast as at the machine's best around {} "
                                       "of {} iterations only, {} were wanted",
                                       quiet, all.size(), wanted));
}

}  // namespace dlscale::bench
