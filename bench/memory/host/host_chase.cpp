#include "bench/memory/host/host_chase.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <random>
#include <utility>

#include "backend/host/core_clock.hpp"
#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

constexpr std::size_t line_of_cache = 64;

void* next(void* at) {
  void* after = nullptr;
  std::memcpy(&after, at, sizeof(after));
  return after;
}

/// Shuffles the groups of places.
std::vector<std::size_t> shuffled(std::span<const std::size_t> places, std::size_t together,
                                  std::uint64_t seed) {
  std::vector<std::size_t> groups(places.size() / together);
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = i * together;
  std::mt19937_64 random(seed);
  std::shuffle(groups.begin(), groups.end(), random);
  std::vector<std::size_t> order;
  order.reserve(places.size());
  for (const std::size_t first : groups) {
    for (std::size_t i = 0; i < together; ++i) order.push_back(places[first + i]);
  }
  return order;
}

std::size_t bytes_for(std::span<const std::size_t> places) {
  EXPECT(!places.empty());
  return *std::max_element(places.begin(), places.end()) + sizeof(void*);
}

}  // namespace

std::vector<std::size_t> spread_places(std::size_t bytes, std::size_t stride) {
  EXPECT(stride >= sizeof(void*) && bytes >= stride);
  const std::size_t lines = std::max<std::size_t>(1, stride / line_of_cache);
  std::vector<std::size_t> places(bytes / stride);
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = i * stride + i % lines * line_of_cache;
  return places;
}

std::vector<std::size_t> paired_places(std::size_t blocks, std::size_t block_bytes,
                                       std::size_t distance) {
  EXPECT(distance >= sizeof(void*) && distance < block_bytes);
  std::vector<std::size_t> places;
  places.reserve(2 * blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    places.push_back(block * block_bytes);
    places.push_back(block * block_bytes + distance);
  }
  return places;
}

HostChase::HostChase(std::span<const std::size_t> places, std::size_t together,
                     backend::PageSize pages, std::uint64_t seed)
    : memory_(bytes_for(places), pages), count_(places.size()) {
  EXPECT(together >= 1 && places.size() % together == 0);
  const std::vector<std::size_t> order = shuffled(places, together, seed);
  for (std::size_t i = 0; i < order.size(); ++i) {
    void* after = memory_.data() + order[(i + 1) % order.size()];
    std::memcpy(memory_.data() + order[i], &after, sizeof(after));
  }
  at_ = memory_.data() + order.front();
  for (std::size_t i = 0; i < walkers_.size(); ++i) {
    walkers_[i] = memory_.data() + order[i * steps_of_walker() % count_];
  }
  wrong_ = count_wrong(order);
}

std::size_t HostChase::steps_of_walker() const {
  return (count_ + walkers_.size() - 1) / walkers_.size();
}

/// Follows every link of the cycle, in parallel as refresh() does: a single walk through a large
/// set takes seconds. A link is wrong if it leads elsewhere than the order says, or to the start
/// before the end.
std::size_t HostChase::count_wrong(std::span<const std::size_t> order) {
  std::size_t wrong = 0;
  std::array<void*, 32> walkers = walkers_;
  for (std::size_t step = 0; step < steps_of_walker(); ++step) {
    for (std::size_t i = 0; i < walkers.size(); ++i) {
      const std::size_t after = i * steps_of_walker() + step + 1;
      if (after > count_) continue;
      void* expected = memory_.data() + order[after == count_ ? 0 : after];
      const bool too_early = after < count_ && expected == at_;
      if (next(walkers[i]) != expected || too_early) ++wrong;
      walkers[i] = expected;
    }
  }
  return wrong;
}

void HostChase::refresh() {
  constexpr std::size_t enough = 131072;
  const std::size_t apart = steps_of_walker();
  const std::size_t rounds = (enough + count_ - 1) / count_;
  for (std::size_t round = 0; round < rounds; ++round) {
    at_ = walkers_.front();
    for (std::size_t step = 0; step < apart; ++step) {
      for (void*& walker : walkers_) walker = next(walker);
    }
  }
}

Seconds HostChase::run(int accesses) {
  constexpr int unrolled = 16;
  EXPECT(accesses >= unrolled && accesses % unrolled == 0);
  void* at = at_;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < accesses; i += unrolled) {
#pragma GCC unroll 16
    for (int k = 0; k < unrolled; ++k) at = next(at);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  at_ = at;  // keeps the compiler from removing the walk
  return Seconds(took.count() / accesses);
}

ChasePiece ChasePieces::time(HostChase& chase) {
  const auto before = backend::preemptions();
  chase.refresh();
  ChasePiece piece{.access = chase.run(accesses)};
  piece.interrupted = backend::preemptions() != before;
  ++pieces_;
  if (piece.interrupted) ++interrupted_;
  return piece;
}

std::string ChasePieces::count_text(backend::Communicator& communicator) const {
  const double interrupted = sum_of_ranks(communicator, interrupted_);
  const double pieces = sum_of_ranks(communicator, pieces_);
  return fmt::format("the system interrupted {:.0f} of all {:.0f}", interrupted, pieces);
}

std::vector<std::string> ChasePieces::warnings(backend::Communicator& communicator) const {
  if (sum_of_ranks(communicator, interrupted_) == 0) return {};
  return {
      "the system interrupted pieces of the chases (the implementation says how many), which count "
      "only where no others were left; what it ran meanwhile took a part of the caches. Stop other "
      "programs."};
}

}  // namespace dlscale::bench
