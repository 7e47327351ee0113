#include "backend/host/core_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "backend/host/host.hpp"

namespace dlscale::backend {
namespace {

/// Two threads that compute on one core take it from each other.
TEST(Preemptions, AreCountedWhereACoreIsShared) {
  const int core = usable_cores().front();
  const BoundThread bound(core);
  const auto before = preemptions();
  std::jthread other([core](const std::stop_token& stop) {
    const BoundThread same(core);
    while (!stop.stop_requested()) continue;
  });
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (preemptions() == before && std::chrono::steady_clock::now() < end) continue;
  EXPECT_GT(preemptions(), before);
}

}  // namespace
}  // namespace dlscale::backend
