#include "bench/comm/traffic/job_clock.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int tag = 2;  // differs from the tag of measured messages
constexpr std::size_t least_trips = 10;
constexpr std::size_t most_trips = 100;
constexpr Seconds long_enough = 5.0_ms;

/// To a rank: 1 if rank 0 sends another message after this one, else 0. Back: its clock in seconds.
using Word = std::array<double, 1>;

void send(backend::Communicator& ranks, const Word& word, Rank to) {
  ranks.send(std::as_bytes(std::span(word)), to, tag);
}

Word receive(backend::Communicator& ranks, Rank from) {
  Word word{};
  ranks.receive(std::as_writable_bytes(std::span(word)), from, tag);
  return word;
}

/// Whether another round trip follows the one after `trips`.
bool goes_on(const std::vector<RoundTrip>& trips) {
  const std::size_t count = trips.size() + 1;
  if (count < least_trips) return true;
  return count < most_trips && trips.back().received - trips.front().sent < long_enough;
}

}  // namespace

ClockOffset clock_offset(std::span<const RoundTrip> trips) {
  EXPECT(!trips.empty());
  const RoundTrip& best = *std::ranges::min_element(
      trips, {}, [](const RoundTrip& trip) { return trip.received - trip.sent; });
  // The difference is halved, as sums of large clock values lose digits.
  const Seconds half = (best.received - best.sent) / 2;
  const Seconds middle = best.sent + half;
  return {.at = middle, .ahead = best.answered - middle, .uncertainty = half};
}

RankClock::RankClock(const ClockOffset& before, const ClockOffset& after)
    : before_(before),
      drift_(after.at > before.at ? (after.ahead - before.ahead) / (after.at - before.at) : 0),
      uncertainty_(std::max(before.uncertainty, after.uncertainty)) {
  EXPECT(before.at <= after.at);
}

Seconds RankClock::common(Seconds own) const {
  // own = c + ahead + drift (c - at), solved for c - at.
  return before_.at + (own - before_.at - before_.ahead) / (1 + drift_);
}

JobClock::JobClock(backend::Communicator& ranks)
    : ranks_(&ranks), origin_(Clock::now().time_since_epoch().count()) {
  ranks.broadcast(std::as_writable_bytes(std::span(&origin_, 1)), 0);
}

Seconds JobClock::shown(Clock::time_point point) const {
  const Clock::duration since(point.time_since_epoch().count() - origin_);
  return Seconds(std::chrono::duration<double>(since).count());
}

std::vector<ClockOffset> JobClock::look() const {
  std::vector<ClockOffset> offsets(static_cast<std::size_t>(ranks_->size()));
  if (ranks_->rank() == 0) {
    offsets.front().at = now();
    for (Rank other = 1; other < ranks_->size(); ++other) {
      offsets[static_cast<std::size_t>(other)] = ask(other);
    }
  } else {
    answer();
  }
  ranks_->broadcast(std::as_writable_bytes(std::span(offsets)), 0);
  return offsets;
}

ClockOffset JobClock::ask(Rank other) const {
  std::vector<RoundTrip> trips;
  for (bool more = true; more;) {
    more = goes_on(trips);
    const Seconds sent = now();
    send(*ranks_, {more ? 1.0 : 0.0}, other);
    const auto [answered] = receive(*ranks_, other);
    trips.push_back({sent, Seconds(answered), now()});
  }
  return clock_offset(trips);
}

void JobClock::answer() const {
  for (bool more = true; more;) {
    more = receive(*ranks_, 0)[0] != 0;
    send(*ranks_, {now().si()}, 0);
  }
}

}  // namespace dlscale::bench
