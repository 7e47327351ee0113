// Signals come while the library computes. A program of its own: what went wrong here ended it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include "backend/compute/host_gemm.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend::native_device {
namespace {

using std::chrono::milliseconds;

/// Signals this process about once a millisecond, each time as if it were the first.
void keep_signalling(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    install_signal_handlers();
    static_cast<void>(kill(getpid(), SIGTERM));
    while (pending_signal() == 0) std::this_thread::yield();
    remember_signal(0);
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// A product of ones, whose answer every element shows. What surrounds it shall stay as it is.
void expect_product(std::int64_t m, std::int64_t n, std::int64_t k, bool a_transposed,
                    bool b_transposed) {
  constexpr std::int64_t around = 4096;
  constexpr float untouched = -1.0F;
  const std::vector<float> a(m * k, 1.0F);
  const std::vector<float> b(k * n, 1.0F);
  std::vector<float> c(m * n + 2 * around, untouched);
  multiply(m, n, k, {a.data(), a_transposed ? m : k, a_transposed},
           {b.data(), b_transposed ? k : n, b_transposed}, c.data() + around, n);
  const auto is = [](float value) { return [value](float element) { return element == value; }; };
  EXPECT_TRUE(std::all_of(c.begin() + around, c.end() - around, is(static_cast<float>(k))));
  EXPECT_TRUE(std::all_of(c.begin(), c.begin() + around, is(untouched)));
  EXPECT_TRUE(std::all_of(c.end() - around, c.end(), is(untouched)));
  EXPECT_TRUE(std::ranges::all_of(a, is(1.0F)));
  EXPECT_TRUE(std::ranges::all_of(b, is(1.0F)));
}

TEST(Signals, DoNotDisturbAProduct) {
  install_signal_handlers();
  const SignalThread signals;
  const std::jthread sender(keep_signalling);
  const auto end = std::chrono::steady_clock::now() + milliseconds(2000);
  do {
    for (const bool a_transposed : {false, true}) {
      for (const bool b_transposed : {false, true}) {
        expect_product(169, 256, 1152, a_transposed, b_transposed);
        expect_product(192, 729, 800, a_transposed, b_transposed);
      }
    }
  } while (!HasFailure() && std::chrono::steady_clock::now() < end);
}

}  // namespace
}  // namespace dlscale::backend::native_device
