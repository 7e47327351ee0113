
#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "core/base/interrupt.hpp"

namespace dlscale {
namespace {

std::atomic<pid_t> handled_by{0};

void note_thread(int /*signal*/) {
  handled_by = gettid();
}

/// Which thread handles a `signal` that this process is sent.
pid_t thread_that_handles(int signal) {
  handled_by = 0;
  std::signal(signal, note_thread);
  EXPECT_EQ(kill(getpid(), signal), 0);
  while (handled_by == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::signal(signal, SIG_DFL);
  return handled_by;
}

TEST(SignalThread, HandlesSignalsOnNoThreadThatComputes) {
  const SignalThread signals;
  std::atomic<pid_t> helper_id{0};
  const std::jthread helper([&](const std::stop_token& stop) {
    helper_id = gettid();
    while (!stop.stop_requested()) std::this_thread::yield();
  });
  while (helper_id == 0) std::this_thread::yield();
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t thread = thread_that_handles(signal);
    EXPECT_NE(thread, gettid()) << signal;
    EXPECT_NE(thread, helper_id) << signal;
  }
}

TEST(SignalThread, LeavesTheMaskAsItWas) {
  sigset_t before;
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &before), 0);
  { const SignalThread signals; }
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &after), 0);
  for (int signal = 1; signal < NSIG; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
  EXPECT_EQ(thread_that_handles(SIGTERM), gettid());
}

TEST(SignalThreadDeathTest, TheSecondSignalEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        install_signal_handlers();
        const SignalThread signals;
        static_cast<void>(kill(getpid(), SIGTERM));
        while (pending_signal() == 0) std::this_thread::yield();
        static_cast<void>(kill(getpid(), SIGTERM));
        for (;;) pause();
      },
      testing::KilledBySignal(SIGTERM), "");
}

}  // namespace
}  // namespace dlscale
