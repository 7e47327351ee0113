#include "bench/memory/host/host_chase.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "backend/host/host.hpp"

namespace dlscale::bench {
namespace {

using backend::BoundThread;

HostChase small_chase() {
  return {spread_places(4096, 64), 1, backend::PageSize::small, 1};
}

TEST(ChasePieces, HaveATimeAndNoWarningBeforeTheFirst) {
  const auto group = backend::local_group(1);
  ChasePieces pieces;
  EXPECT_TRUE(pieces.warnings(*group.front()).empty());
  HostChase chase = small_chase();
  EXPECT_GT(pieces.time(chase).access, Seconds(0));
}

/// Beside a thread that never leaves the same core every piece is interrupted sooner or later.
TEST(ChasePieces, AreCountedWhereTheSystemInterruptsThem) {
  const auto group = backend::local_group(1);
  const int core = backend::usable_cores().front();
  const BoundThread bound(core);
  std::jthread other([core](const std::stop_token& stop) {
    const BoundThread same(core);
    while (!stop.stop_requested()) continue;
  });
  HostChase chase = small_chase();
  ChasePieces pieces;
  int taken = 1;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!pieces.time(chase).interrupted && std::chrono::steady_clock::now() < end) ++taken;
  const auto warnings = pieces.warnings(*group.front());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(pieces.count_text(*group.front()),
            "the system interrupted 1 of all " + std::to_string(taken));
}

}  // namespace
}  // namespace dlscale::bench
