#include "core/interrupt.hpp"

#include <atomic>
#include <csignal>

#include "core/error.hpp"

namespace dlscale {
namespace {

// A signal handler can reach nothing but a global.
std::atomic<int> caught_signal{0};
static_assert(std::atomic<int>::is_always_lock_free);

}  // namespace

void remember_signal(int signal) {
  caught_signal.store(signal, std::memory_order_relaxed);
}

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = remember_signal;
  sigemptyset(&action.sa_mask);
  // The second signal finds the default action and ends the process.
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  for (const int signal : {SIGINT, SIGTERM}) {
    EXPECT(sigaction(signal, &action, nullptr) == 0);
  }
}

int pending_signal() {
  return caught_signal.load(std::memory_order_relaxed);
}

void throw_if_interrupted() {
  if (const int signal = pending_signal(); signal != 0) throw Interrupted(signal);
}

}  // namespace dlscale
